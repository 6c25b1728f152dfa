#pragma once
// torch.autocast("npu"): PyTorch's own lists of operators, as torch_npu takes them.

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <set>
#include <string>

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

// PyTorch's lists for CUDA, which torch_npu takes, registered in the library m for one device.
// Layers of recurrent networks run whole here (rnn.h); elsewhere they are composites of listed
// operators.
#define CUDA2NPU_AUTOCAST_LISTS(REDISPATCH_OF_DEVICE)                         \
  AT_FORALL_LOWER_PRECISION_FP(LOWER_PRECISION)                                \
  AT_FORALL_FP32(FP32)                                                         \
  AT_FORALL_FP32_SET_OPT_DTYPE(FP32_SET_OPT_DTYPE)                             \
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(REDISPATCH_OF_DEVICE)               \
  AT_FORALL_PROMOTE(PROMOTE)                                                   \
  LOWER_PRECISION(lstm, input)                                                 \
  LOWER_PRECISION(lstm, data)                                                  \
  LOWER_PRECISION(gru, input)                                                  \
  LOWER_PRECISION(gru, data)                                                   \
  LOWER_PRECISION(rnn_tanh, input)                                             \
  LOWER_PRECISION(rnn_tanh, data)                                              \
  LOWER_PRECISION(rnn_relu, input)                                             \
  LOWER_PRECISION(rnn_relu, data)                                              \
  m.impl("binary_cross_entropy", &cuda2npu_sim::refuse_binary_cross_entropy);

// The macros expect to stand in this namespace.
namespace at::autocast {
namespace {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

#define LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  CUDA2NPU_AUTOCAST_LISTS(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
}
#undef LOWER_PRECISION
#undef FP32
#undef FP32_SET_OPT_DTYPE
#undef PROMOTE

#define LOWER_PRECISION(...) KERNEL_CPU(__VA_ARGS__, lower_precision_fp)
#define FP32(...) KERNEL_CPU(__VA_ARGS__, fp32)
#define FP32_SET_OPT_DTYPE(...) KERNEL_CPU(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_CPU(__VA_ARGS__, promote)
inline void register_lists_for_cpu(torch::Library& m) {
  CUDA2NPU_AUTOCAST_LISTS(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_CPU)
}
#undef LOWER_PRECISION
#undef FP32
#undef FP32_SET_OPT_DTYPE
#undef PROMOTE

}  // namespace
}  // namespace at::autocast

namespace cuda2npu_sim {

// PyTorch warns once that kernels are replaced; here that is the purpose.
class IgnoreWarnings final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// From now on autocast on the CPU casts what autocast on CUDA and on an NPU casts, so that a CUDA
// program that runs on the CPU in its place computes the same. The CPU has lists of its own.
inline void cast_on_cpu_as_on_cuda() {
  static const bool done = [] {
    IgnoreWarnings ignore;
    const c10::WarningUtils::WarningHandlerGuard guard(&ignore);
    auto& dispatcher = c10::Dispatcher::singleton();
    std::set<std::string> listed;
    for (const auto& name :
         dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::AutocastPrivateUse1)) {
      listed.insert(toString(name));
    }
    const auto on_cpu =
        dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::AutocastCPU);
    // Kept for the life of the process.
    auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastCPU,
                                       __FILE__, __LINE__);
    for (const auto& name : on_cpu) {
      if (name.getNamespace() == "aten" && listed.count(toString(name)) == 0) {
        library->impl(toString(name).c_str(), torch::CppFunction::makeFallthrough());
      }
    }
    at::autocast::register_lists_for_cpu(*library);
    return true;
  }();
  (void)done;
}

}  // namespace cuda2npu_sim
