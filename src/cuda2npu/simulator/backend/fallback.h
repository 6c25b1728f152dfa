#pragma once
// The one kernel of (nearly) all operators: it hands the CPU kernel CPU aliases of the npu tensors,
// and relabels what comes back. at::native::cpu_fallback does something alike, but copies, and
// moves CPU tensors among the arguments silently, so that a device mismatch would go unseen.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "alias.h"
#include "device_check.h"
#include "generator.h"
#include "operators.h"

namespace cuda2npu_sim {

// What PyTorch does above a kernel was done for the npu tensors: the CPU kernel must not be
// recorded by autograd or jit.trace a second time, nor be cast by a CPU autocast that is on as
// well.
inline c10::DispatchKeySet keys_above_kernels() {
  return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
         c10::DispatchKeySet(c10::DispatchKey::Tracer);
}

class Call {
 public:
  Call(const Operator& op, torch::jit::Stack& stack)
      : op_(op), stack_(stack), first_(stack.size() - op.argument_count), check_(op) {}

  void arguments_to_host() {
    for (const Argument& argument : op_.arguments) {
      c10::IValue& value = stack_[first_ + argument.index];
      if (argument.returned) returned_.emplace_back(argument.index, value);
      to_host(value, argument);
    }
    device_ = check_.device();
  }

  void results_to_npu() {
    for (const auto& [npu, host] : written_) aliases_.write_back(npu, host);
    if (op_.returns_host_tensor) return;
    const size_t first = stack_.size() - op_.return_count;
    for (size_t i = 0; i < op_.return_count; ++i) {
      c10::IValue& value = stack_[first + i];
      const int argument = op_.returned_argument[i];
      if (argument >= 0) {
        value = returned(argument);
      } else {
        to_npu(value);
      }
    }
  }

 private:
  void to_host(c10::IValue& value, const Argument& argument) {
    if (value.isTensor()) {
      value = to_host(std::move(value).toTensor(), argument);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> host;
      for (at::Tensor tensor : value.toTensorList()) {
        host.push_back(to_host(std::move(tensor), argument));
      }
      value = std::move(host);
    } else if (value.isList()) {
      value = optional_tensors_to_host(std::move(value).toList(), argument);
    } else if (value.isDevice()) {
      if (value.toDevice().type() != kNpu) return;
      check_.ask_for(value.toDevice());
      value = c10::Device(c10::DeviceType::CPU);
    } else if (value.isStorage()) {
      const c10::Storage storage = value.toStorage();
      check_.see(storage, argument);
      if (storage.device().type() == kNpu) value = aliases_.to_host(storage);
    } else if (value.isGenerator()) {
      check_.see(value.toGenerator());
      value = host_generator(value.toGenerator());
    }
  }

  at::Tensor to_host(at::Tensor tensor, const Argument& argument) {
    check_.see(tensor, argument);
    if (!is_npu(tensor)) return tensor;
    at::Tensor host = aliases_.to_host(tensor);
    if (argument.written) written_.emplace_back(std::move(tensor), host);
    return host;
  }

  // Tensor?[], the indices of aten::index.
  c10::impl::GenericList optional_tensors_to_host(const c10::impl::GenericList& values,
                                                  const Argument& argument) {
    c10::impl::GenericList host(values.elementType());
    for (const c10::IValue& value : values) {
      host.push_back(value.isTensor() ? to_host(value.toTensor(), argument) : value);
    }
    return host;
  }

  void to_npu(c10::IValue& value) {
    if (value.isTensor()) {
      value = aliases_.to_npu(value.toTensor(), device_);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> npu;
      for (const at::Tensor& tensor : value.toTensorList()) {
        npu.push_back(aliases_.to_npu(tensor, device_));
      }
      value = std::move(npu);
    }
  }

  const c10::IValue& returned(int argument) const {
    for (const auto& [index, value] : returned_) {
      if (index == static_cast<size_t>(argument)) return value;
    }
    TORCH_INTERNAL_ASSERT(false, op_.name, " returns an argument that it wasn't given");
  }

  const Operator& op_;
  torch::jit::Stack& stack_;
  size_t first_;
  DeviceCheck check_;
  CallAliases aliases_;
  c10::DeviceIndex device_ = -1;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> written_;  // npu, host
  c10::SmallVector<std::pair<size_t, c10::IValue>, 2> returned_;  // argument index, as it was given
};

inline void run_on_host(Operator& op, torch::jit::Stack* stack) {
  static const c10::DispatchKeySet above = keys_above_kernels();
  const c10::impl::ExcludeDispatchKeyGuard below(above);
  Call call(op, *stack);
  call.arguments_to_host();
  op.calls.fetch_add(1, std::memory_order_relaxed);
  op.handle.redispatchBoxed(c10::DispatchKeySet(op.host_key), stack);
  call.results_to_npu();
}

// A kernel object for each operator: nothing has to be looked up in a call.
class HostKernel final : public c10::OperatorKernel {
 public:
  explicit HostKernel(Operator& op) : op_(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run_on_host(op_, stack);
  }

 private:
  Operator& op_;
};

inline torch::CppFunction host_kernel(const c10::OperatorHandle& op,
                                      c10::DispatchKey host_key = c10::DispatchKey::CPU) {
  return torch::CppFunction::makeFromBoxedFunctor(
      std::make_unique<HostKernel>(operator_table().add(op, host_key)));
}

// For operators that came later, or from elsewhere: torchvision's, a user's own.
inline void run_unknown_on_host(const c10::OperatorHandle& handle, c10::DispatchKeySet,
                                torch::jit::Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU),
                              "Could not run '", handle.operator_name(),
                              "' with arguments from the 'npu' backend: the simulated NPU runs CPU "
                              "kernels, and this operator has none");
  run_on_host(operator_table().find_or_add(handle), stack);
}

}  // namespace cuda2npu_sim
