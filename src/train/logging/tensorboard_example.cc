// Writes event files into the folder that is named, for tests/python/test_tensorboard.py: two curves, begun, and gone
// on with after step 2.
#include "ronde/train/logging/tensorboard.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  {
    ronde::train::TensorBoardWriter board(words[1]);
    for (int step = 0; step < 4; ++step)
      board.write(step, {{"loss/train", 4.0 - step}, {"accuracy/train", 0.25 * step}});
  }
  ronde::train::TensorBoardWriter board(words[1], 2);
  board.write(3, {{"loss/train", 0.5}});
}
