#include "ronde/parallel/tensor_buffer.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "ronde/base/error.h"
#include "ronde/device/device.h"

namespace ronde::parallel {

comm::DType dtype_of(torch::ScalarType type) {
  switch (type) {
    case torch::kUInt8: return comm::DType::U8;
    case torch::kInt8: return comm::DType::I8;
    case torch::kInt16: return comm::DType::I16;
    case torch::kInt32: return comm::DType::I32;
    case torch::kInt64: return comm::DType::I64;
    case torch::kFloat16: return comm::DType::F16;
    case torch::kBFloat16: return comm::DType::BF16;
    case torch::kFloat32: return comm::DType::F32;
    case torch::kFloat64: return comm::DType::F64;
    case torch::kBool: return comm::DType::Bool;
    default: throw Error::bad_input("tensors of type {} cannot be sent between ranks", torch::toString(type));
  }
}

comm::Buffer buffer_of(const torch::Tensor& tensor) {
  if (tensor.is_sparse()) throw Error::bad_input("a sparse tensor is not contiguous in memory");
  if (!tensor.is_non_overlapping_and_dense())
    throw Error::bad_input("a tensor of shape {} is not contiguous: call contiguous() first", c10::str(tensor.sizes()));
  const auto sizes = tensor.sizes();
  comm::Buffer buffer{.data = tensor.data_ptr(), .dtype = dtype_of(tensor.scalar_type())};
  // More dimensions than the engine has names for are one long row to it.
  buffer.shape = sizes.size() <= comm::Shape::kMost ? comm::Shape(std::span(sizes.data(), sizes.size()))
                                                    : comm::Shape({tensor.numel()});
  if (tensor.is_cuda()) buffer.device = tensor.get_device();
  return buffer;
}

bool travels_as_it_is(const torch::Tensor& tensor) {
  return tensor.is_cpu() || (tensor.is_cuda() && device::count() > 0);
}

int number_of(torch::Device device) {
  if (device.is_cpu()) return device::kHost;
  return device.has_index() ? device.index() : 0;
}

device::Stream current_stream(torch::Device device) {
  if (!device.is_cuda()) return {};
  const int number = number_of(device);
  const torch::Device numbered(device.type(), static_cast<c10::DeviceIndex>(number));
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(numbered);
  return device::Stream::borrow(number, static_cast<CUstream_st*>(stream.native_handle()));
}

CUstream_st* stream_of(const torch::Tensor& tensor) {
  return current_stream(tensor.device()).native();
}

std::vector<std::size_t> sizes_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<std::size_t> sizes;
  for (const torch::Tensor& tensor : tensors) sizes.push_back(tensor.nbytes());
  return sizes;
}

}  // namespace ronde::parallel
