#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>

#include "ronde/base/settings/settings.h"
#include "ronde/comm/thread_job.h"
#include "ronde/device/device.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/train/input/input.h"
#include "ronde/train/loop/feed.h"
#include "ronde/train/loop/learner.h"
#include "ronde/train/loop/training_stream.h"

// Inside a step nobody on the host waits for the GPU.
namespace ronde::train {
namespace {

// While it lives, whatever makes the host wait for a GPU by torch throws.
struct NoWaiting {
  NoWaiting() { c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR); }
  ~NoWaiting() { c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED); }
};

void expect_no_waiting(const std::map<std::string, std::string>& with) {
  Settings settings;
  for (const auto& [key, text] : std::map<std::string, std::string>{{"data.resolution", "16"},
                                                                    {"data.samples", "640"},
                                                                    {"data.test_samples", "32"},
                                                                    {"model.name", "resnet20"},
                                                                    {"train.batch", "32"},
                                                                    {"train.device", "cuda"}})
    settings.set(key, text, "test");
  for (const auto& [key, text] : with) settings.set(key, text, "test");
  comm::ThreadJob job(1);
  const Session session(job.engine(0), settings);
  const TrainingStream stream(session.device());
  Task task = make_task(session);
  Learner learner(session, task);
  data::Pipeline batches =
      (data::from_source(*task.samples) | data::shuffle(0) | data::batch(32)).open(pipeline_of(session));
  Feed feed(batches, session, task);
  for (int step = 1; step <= 16; ++step) {
    const auto batch = feed.next();
    ASSERT_TRUE(batch);
    if (step <= 6) {  // libraries choose their algorithms, and a graph is recorded
      learner.step(step, *batch);
      learner.finished();
      continue;
    }
    const NoWaiting scope;
    at::cuda::sleep(40'000'000);  // about 20 ms
    const auto gpu = parallel::current_stream(batch->inputs.device());
    device::Event held_up(gpu);
    held_up.record(gpu);
    ASSERT_NO_THROW(learner.step(step, *batch)) << "step " << step;
    EXPECT_FALSE(held_up.ready()) << "step " << step << " has waited for what was before it";
    learner.finished(1);
  }
}

TEST(GpuSteps, WaitForNothing) {
  if (device::count() == 0) GTEST_SKIP() << device::why_none();
  for (const char* graph : {"off", "on"})
    for (const char* precision : {"f32", "bf16", "f16"})
      for (const char* clip : {"0", "1"}) {
        SCOPED_TRACE(std::string("train.graph ") + graph + ", " + precision + ", train.clip_norm " + clip);
        expect_no_waiting({{"train.graph", graph}, {"train.precision", precision}, {"train.clip_norm", clip}});
      }
  for (const char* graph : {"off", "on"})
    expect_no_waiting({{"train.graph", graph}, {"train.precision", "f16"}, {"optimizer.name", "adamw"}});
}

}  // namespace
}  // namespace ronde::train
