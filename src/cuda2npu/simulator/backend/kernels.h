#pragma once
// Operators that the fallback can't do: those that make npu tensors, those that move data between
// devices, and views, which touch no data and are PyTorch's own functions for every device.

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_cpu_dispatch.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "fallback.h"

namespace cuda2npu_sim {

inline at::ScalarType or_default(std::optional<at::ScalarType> dtype) {
  return dtype.value_or(at::get_default_dtype_as_scalartype());
}

inline c10::DeviceGuard guard_for_new_tensor(std::optional<at::Device> device,
                                             std::optional<bool> pin_memory) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  return c10::DeviceGuard(at::Device(kNpu, index_or_current(device.value_or(at::Device(kNpu)))));
}

inline at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout>, std::optional<at::Device> device,
                        std::optional<bool> pin_memory, std::optional<at::MemoryFormat> format) {
  const auto guard = guard_for_new_tensor(device, pin_memory);
  return at::detail::empty_generic(size, npu_allocator(),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   or_default(dtype), format);
}

inline at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                                std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                                std::optional<at::Device> device, std::optional<bool> pin_memory) {
  const auto guard = guard_for_new_tensor(device, pin_memory);
  return at::detail::empty_strided_generic(size, stride, npu_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           or_default(dtype));
}

// The CPU's is a tensor without memory, behind a dispatch key of its own. Real zeros mean the same.
inline at::Tensor efficient_zero_tensor(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                                        std::optional<at::Layout> layout,
                                        std::optional<at::Device> device,
                                        std::optional<bool> pin_memory) {
  return empty(size, dtype, layout, device, pin_memory, std::nullopt).zero_();
}

inline at::Tensor host_or_same(CallAliases& aliases, const at::Tensor& tensor) {
  return is_npu(tensor) ? aliases.to_host(tensor) : tensor;
}

// The one operator whose tensors may lie on different devices, strided or sparse. Within one device
// it is a kernel like any other, and counted.
inline at::Tensor& copy(at::Tensor& self, const at::Tensor& from, bool /*non_blocking*/) {
  static Operator& op = operator_table().add(find_aten("copy_"), c10::DispatchKey::CPU);
  static const c10::DispatchKeySet above = keys_above_kernels();
  const c10::impl::ExcludeDispatchKeyGuard below(above);
  if (self.device() == from.device()) op.calls.fetch_add(1, std::memory_order_relaxed);
  CallAliases aliases;
  at::Tensor host = host_or_same(aliases, self);
  host.copy_(host_or_same(aliases, from));
  if (is_npu(self)) aliases.write_back(self, host);
  return self;
}

inline void record_stream(at::Tensor&, at::Stream) {}  // no memory is handed on between streams

inline bool is_dense(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_nested() && (tensor.is_cpu() || is_npu(tensor));
}

// Whether `self.data = from` may be done. For a device that it doesn't know PyTorch says no, and
// Module.to then makes new parameters, which breaks shared weights apart. torch_npu says yes between
// a CPU tensor and an npu tensor.
inline bool can_take_data_of(const at::Tensor& self, const at::Tensor& from) {
  return self.key_set() == from.key_set() || (is_dense(self) && is_dense(from));
}

// A CPU tensor of the same shape and type without memory. Under torch.compile there is none to show.
inline at::Tensor shape_on_host(const at::Tensor& npu) {
  const auto host = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, at::kCPU), nullptr),
      c10::DispatchKeySet(c10::DispatchKey::CPU), npu.dtype());
  host.unsafeGetTensorImpl()->set_sizes_and_strides(npu.sym_sizes(), npu.sym_strides(),
                                                    npu.sym_storage_offset());
  return host;
}

// Which kernel scaled_dot_product_attention takes: the CPU's choice, so that results are equal to
// the last bit. It depends on shapes and types alone.
inline int64_t choose_attention(const at::Tensor& query, const at::Tensor& key,
                                const at::Tensor& value, const std::optional<at::Tensor>& mask,
                                double dropout, bool causal, std::optional<double> scale,
                                bool gqa) {
  CallAliases aliases;
  const auto on_host = [&](const at::Tensor& tensor) {
    if (!is_npu(tensor)) return tensor;
    return tensor.is_nested() ? aliases.to_host(tensor) : shape_on_host(tensor);
  };
  std::optional<at::Tensor> host_mask;
  if (mask.has_value() && mask->defined()) host_mask = on_host(*mask);
  // Past the dispatcher: a mode that torch.compile has on would see tensors that aren't its own.
  return at::cpu::_fused_sdp_choice(on_host(query), on_host(key), on_host(value), host_mask,
                                    dropout, causal, scale, gqa);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_efficientzerotensor", &efficient_zero_tensor);
  m.impl("copy_", &copy);
  m.impl("record_stream", &record_stream);
  m.impl("_has_compatible_shallow_copy_type", &can_take_data_of);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("unfold", &at::native::unfold);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
  m.impl("copy_", &copy);
}

}  // namespace cuda2npu_sim

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &cuda2npu_sim::choose_attention)
}
