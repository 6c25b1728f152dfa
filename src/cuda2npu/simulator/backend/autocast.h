#pragma once
// torch.autocast("npu"): PyTorch's own lists of operators, as torch_npu takes them.

#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace cuda2npu_sim {

inline at::Tensor refuse_binary_cross_entropy(const at::Tensor&, const at::Tensor&,
                                              const std::optional<at::Tensor>&, int64_t) {
  TORCH_CHECK(
      false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
      "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
      "In this case, combine the two layers using "
      "torch.nn.functional.binary_cross_entropy_with_logits\n"
      "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
      "safe to autocast.");
}

}  // namespace cuda2npu_sim

// The macros expect to stand in this namespace.
namespace at::autocast {
namespace {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(LOWER_PRECISION)
  AT_FORALL_FP32(FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(FP32_SET_OPT_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(PROMOTE)
  // Whole layers here, composites of listed operators elsewhere (rnn.h).
  LOWER_PRECISION(lstm, input)
  LOWER_PRECISION(lstm, data)
  LOWER_PRECISION(gru, input)
  LOWER_PRECISION(gru, data)
  LOWER_PRECISION(rnn_tanh, input)
  LOWER_PRECISION(rnn_tanh, data)
  LOWER_PRECISION(rnn_relu, input)
  LOWER_PRECISION(rnn_relu, data)
#undef LOWER_PRECISION
#undef FP32
#undef FP32_SET_OPT_DTYPE
#undef PROMOTE
  m.impl("binary_cross_entropy", &cuda2npu_sim::refuse_binary_cross_entropy);
}

}  // namespace
}  // namespace at::autocast
