#pragma once

#include <string>
#include <string_view>

namespace ronde::device {

// What a kernel is called on a row of the timeline: its name as the compiler mangled it, read back, without return
// type, parameters, template arguments and anonymous namespaces.
//   _ZN2at6native13reduce_kernelILi512EEEvi  ->  at::native::reduce_kernel
// Names that are not mangled (those of cuDNN and cuBLAS) stay.
std::string kernel_name(std::string_view mangled);

// Whether a kernel of that name moves data between GPUs: one of NCCL's.
bool is_collective(std::string_view kernel_name);

}  // namespace ronde::device
