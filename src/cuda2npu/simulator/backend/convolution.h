#pragma once
// PyTorch sends the convolutions of a device that it doesn't know to convolution_overrideable,
// below aten::_convolution (which is what jit.trace records). On the CPU the same call is
// aten::convolution.

#include <ATen/ATen.h>
#include <torch/library.h>

#include "fallback.h"

namespace cuda2npu_sim {

// convolution_backward_overrideable doesn't get the shape of the bias, which is that of the
// channels.
inline std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask) {
  const int64_t channels = grad_output.size(1);
  return at::convolution_backward(grad_output, input, weight, at::IntArrayRef(channels), stride,
                                  padding, dilation, transposed, output_padding, groups,
                                  output_mask);
}

inline void register_convolution() {
  // Kept for the life of the process.
  auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1,
                                     __FILE__, __LINE__);
  library->impl("convolution_overrideable", host_kernel(find_aten("convolution")));
  library->impl("convolution_backward", host_kernel(find_aten("convolution_backward")));
  library->impl("convolution_backward_overrideable", &convolution_backward);
}

}  // namespace cuda2npu_sim
