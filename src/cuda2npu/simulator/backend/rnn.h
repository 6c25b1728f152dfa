#pragma once
// Recurrent layers run whole on the CPU. PyTorch's own composites ask where their input lies: on a
// GPU they take fused cells and multiply the input step by step, on the CPU oneDNN's LSTM and one
// product for all steps. Only the CPU's own path gives its results to the last bit; and torch_npu
// has kernels for whole LSTM and GRU layers, too.
//
// They have no derivative formula of their own, so that autograd has to record their parts: on the
// CPU, between two functions that do nothing but change the device.

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "fallback.h"

namespace cuda2npu_sim {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ToNpu : torch::autograd::Function<ToNpu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& host, int64_t device);
  static variable_list backward(AutogradContext* context, variable_list gradients);
};

struct ToHost : torch::autograd::Function<ToHost> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& npu) {
    context->saved_data["device"] = static_cast<int64_t>(npu.device().index());
    at::Tensor host = CallAliases().to_host(npu);
    // So that autograd notices when the tensor is changed before the backward pass.
    if (!npu.is_inference() && !host.is_inference()) {
      host.unsafeGetTensorImpl()->set_version_counter(npu.unsafeGetTensorImpl()->version_counter());
    }
    return host;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (!gradients[0].defined()) return {at::Tensor()};
    return {ToNpu::apply(gradients[0], context->saved_data["device"].toInt())};
  }
};

inline at::Tensor ToNpu::forward(AutogradContext*, const at::Tensor& host, int64_t device) {
  return CallAliases().to_npu(host, static_cast<c10::DeviceIndex>(device));
}

inline variable_list ToNpu::backward(AutogradContext*, variable_list gradients) {
  if (!gradients[0].defined()) return {at::Tensor(), at::Tensor()};
  return {ToHost::apply(gradients[0]), at::Tensor()};
}

class WholeLayer final : public c10::OperatorKernel {
 public:
  explicit WholeLayer(Operator& op) : op_(op) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    DeviceCheck check(op_);
    const size_t first = stack->size() - op_.argument_count;
    for (const Argument& argument : op_.arguments) {
      c10::IValue& value = (*stack)[first + argument.index];
      value = map_tensors(value, [&](const at::Tensor& tensor) {
        check.see(tensor, argument);
        return is_npu(tensor) ? ToHost::apply(tensor) : tensor;
      });
    }
    const int64_t device = check.device();
    op_.calls.fetch_add(1, std::memory_order_relaxed);
    op_.handle.callBoxed(stack);
    for (size_t i = stack->size() - op_.return_count; i < stack->size(); ++i) {
      (*stack)[i] = map_tensors(
          (*stack)[i], [&](const at::Tensor& tensor) { return ToNpu::apply(tensor, device); });
    }
  }

 private:
  template <typename Function>
  static c10::IValue map_tensors(const c10::IValue& value, const Function& function) {
    if (value.isTensor()) return function(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> mapped;
    for (const at::Tensor& tensor : value.toTensorList()) mapped.push_back(function(tensor));
    return mapped;
  }

  Operator& op_;
};

inline void register_whole_layers(c10::DispatchKey key) {
  // Kept for the life of the process, as all registrations here are.
  auto* library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  for (const char* name :
       {"lstm.input", "lstm.data", "gru.input", "gru.data", "rnn_tanh.input", "rnn_tanh.data",
        "rnn_relu.input", "rnn_relu.data", "lstm_cell", "gru_cell"}) {
    Operator& op = operator_table().add(find_aten(name), c10::DispatchKey::CPU);
    library->impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<WholeLayer>(op)));
  }
}

}  // namespace cuda2npu_sim
