#include "ronde/train/optim/buffer_snapshot.h"

namespace ronde::train {

void BufferSnapshot::keep(const torch::nn::Module& network) {
  const torch::NoGradGuard no_grad;
  const auto now = network.buffers();
  if (now.empty()) return;
  if (kept_.size() != now.size()) {
    kept_.clear();
    for (const auto& buffer : now) kept_.push_back(torch::empty_like(buffer));
  }
  torch::_foreach_copy_(kept_, now);
}

void BufferSnapshot::put_back(const torch::nn::Module& network) const {
  if (kept_.empty()) return;
  const torch::NoGradGuard no_grad;
  auto now = network.buffers();
  torch::_foreach_copy_(now, kept_);
}

void BufferSnapshot::put_back_where(const torch::Tensor& skipped, const torch::nn::Module& network) const {
  if (kept_.empty()) return;
  const torch::NoGradGuard no_grad;
  const torch::Tensor back = skipped.ne(0).squeeze();  // no dimension of its own: some buffers have none
  auto now = network.buffers();
  for (std::size_t i = 0; i < now.size(); ++i) now[i].copy_(torch::where(back, kept_[i], now[i]));
}

}  // namespace ronde::train
