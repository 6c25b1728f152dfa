#pragma once
// Zero-copy views between npu tensors and CPU tensors for the time of one operator call.
//
// Going to the host is easy, as every npu storage owns its CPU storage. Coming back, a result may
// lie in the storage of an argument (a view) or share a new one with other results, so that the
// call remembers which npu storage shows which CPU storage.

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/nested/NestedTensorUtils.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/SmallVector.h>

#include "memory.h"

namespace cuda2npu_sim {

inline bool is_npu(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kNpu;
}

inline void copy_geometry(const at::Tensor& from, const at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(),
                                                  from.storage_offset());
  if (from.is_conj()) to._set_conj(true);
  if (from.is_neg()) to._set_neg(true);
}

inline at::SparseTensorImpl& sparse_impl(const at::Tensor& tensor) {
  return *static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

class CallAliases {
 public:
  at::Tensor to_host(const at::Tensor& npu) {
    if (npu.is_nested()) return nested_to_host(npu);
    if (npu.is_sparse()) return sparse_to_host(npu);
    return strided_to_host(npu);
  }

  c10::Storage to_host(const c10::Storage& npu) {
    return remember(npu, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1));
  }

  at::Tensor to_npu(const at::Tensor& host, c10::DeviceIndex device) {
    if (!host.defined() || host.device().type() != c10::DeviceType::CPU) return host;
    if (host.is_nested()) return nested_to_npu(host, device);
    if (host.is_sparse()) return sparse_to_npu(host, device);
    TORCH_CHECK_NOT_IMPLEMENTED(host.layout() == c10::kStrided && !host.is_quantized(),
                                "the simulated NPU has no tensors of layout ", host.layout(),
                                " and type ", host.dtype());
    return strided_to_npu(host, device);
  }

  // After the call: an in-place or out= argument may have been resized, or have got other storage.
  void write_back(const at::Tensor& npu, const at::Tensor& host) {
    if (npu.is_nested()) return;
    if (npu.is_sparse()) return sparse_write_back(npu, host);
    c10::StorageImpl& npu_storage = *npu.storage().unsafeGetStorageImpl();
    if (block_of(npu_storage).host().is_alias_of(host.storage())) {
      follow_host(npu_storage);
    } else {
      npu.unsafeGetTensorImpl()->set_storage_keep_dtype(
          npu_storage_of(host.storage(), npu.device().index()));
    }
    const bool moved = npu.sizes() != host.sizes() || npu.strides() != host.strides() ||
                       npu.storage_offset() != host.storage_offset();
    if (moved) copy_geometry(host, npu);
  }

 private:
  struct Pair {
    c10::StorageImpl* host;
    c10::Storage npu;
    c10::DispatchKeySet keys;  // of the npu tensor that brought the storage into the call
  };

  const c10::Storage& remember(const c10::Storage& npu, c10::DispatchKeySet keys) {
    const c10::Storage& host = block_of(*npu.unsafeGetStorageImpl()).host();
    pairs_.push_back({host.unsafeGetStorageImpl(), npu, keys});
    return host;
  }

  const Pair* find(const c10::Storage& host) const {
    for (const Pair& pair : pairs_) {
      if (pair.host == host.unsafeGetStorageImpl()) return &pair;
    }
    return nullptr;
  }

  c10::Storage npu_storage_of(const c10::Storage& host, c10::DeviceIndex device) {
    // Nobody but the result itself holds a fresh storage: no need to look or to remember. This is
    // the usual case, and keeps calls with thousands of tensors linear.
    if (host.use_count() == 1) return make_npu_storage(host, device);
    if (const Pair* pair = find(host)) return pair->npu;
    c10::Storage npu = make_npu_storage(host, device);
    pairs_.push_back({host.unsafeGetStorageImpl(), npu, c10::DispatchKeySet()});
    return npu;
  }

  at::Tensor strided_to_host(const at::Tensor& npu) {
    const auto host = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(remember(npu.storage(), npu.key_set())),
        c10::DispatchKeySet(c10::DispatchKey::CPU), npu.dtype());
    copy_geometry(npu, host);
    if (npu.unsafeGetTensorImpl()->is_wrapped_number()) {
      host.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    return host;
  }

  at::Tensor strided_to_npu(const at::Tensor& host, c10::DeviceIndex device) {
    const Pair* base = host.storage().use_count() == 1 ? nullptr : find(host.storage());
    const at::Tensor npu =
        base != nullptr && !base->keys.empty()
            ? view_of(*base, host.dtype())
            : at::detail::make_tensor<c10::TensorImpl>(
                  npu_storage_of(host.storage(), device),
                  c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), host.dtype());
    copy_geometry(host, npu);
    return npu;
  }

  // A view keeps the dispatch keys of its base: in inference mode a view of a normal tensor is a
  // normal tensor, and a new tensor would not be.
  static at::Tensor view_of(const Pair& base, caffe2::TypeMeta dtype) {
    const auto keys =
        base.keys.remove(c10::DispatchKey::Conjugate).remove(c10::DispatchKey::Negative);
    return at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(base.npu),
                                                    keys, dtype);
  }

  // A sparse COO tensor is two strided ones, and a nested one is a buffer with sizes.
  static void fill_sparse(const at::Tensor& from, const at::Tensor& to, const at::Tensor& indices,
                          const at::Tensor& values) {
    at::SparseTensorImpl& source = sparse_impl(from);
    at::SparseTensorImpl& target = sparse_impl(to);
    target.raw_resize_(source.sparse_dim(), source.dense_dim(), from.sizes());
    target.set_indices_and_values_unsafe(indices, values);
    target.set_coalesced(source.coalesced());
  }

  at::Tensor sparse_to_host(const at::Tensor& npu) {
    const auto host = at::detail::make_tensor<at::SparseTensorImpl>(
        c10::DispatchKeySet(c10::DispatchKey::SparseCPU), npu.dtype());
    fill_sparse(npu, host, to_host(sparse_impl(npu).indices()), to_host(sparse_impl(npu).values()));
    return host;
  }

  at::Tensor sparse_to_npu(const at::Tensor& host, c10::DeviceIndex device) {
    // The tensor takes its device from the empty tensors that its constructor makes.
    const c10::DeviceGuard guard(c10::Device(kNpu, device));
    const auto npu = at::detail::make_tensor<at::SparseTensorImpl>(
        c10::DispatchKeySet(c10::DispatchKey::SparsePrivateUse1), host.dtype());
    fill_sparse(host, npu, to_npu(sparse_impl(host).indices(), device),
                to_npu(sparse_impl(host).values(), device));
    return npu;
  }

  void sparse_write_back(const at::Tensor& npu, const at::Tensor& host) {
    const c10::DeviceIndex device = npu.device().index();
    fill_sparse(host, npu, to_npu(sparse_impl(host).indices(), device),
                to_npu(sparse_impl(host).values(), device));
  }

  at::Tensor nested_to_host(const at::Tensor& npu) {
    const auto* nested = at::native::get_nested_tensor_impl(npu);
    return nested_over(to_host(nested->get_unsafe_storage_as_tensor()), *nested);
  }

  at::Tensor nested_to_npu(const at::Tensor& host, c10::DeviceIndex device) {
    const auto* nested = at::native::get_nested_tensor_impl(host);
    return nested_over(to_npu(nested->get_unsafe_storage_as_tensor(), device), *nested);
  }

  static at::Tensor nested_over(const at::Tensor& buffer,
                                const at::native::NestedTensorImpl& shape) {
    return at::detail::make_tensor<at::native::NestedTensorImpl>(
        buffer, shape.get_nested_sizes(), shape.get_nested_strides(), shape.get_storage_offsets());
  }

  c10::SmallVector<Pair, 4> pairs_;
};

}  // namespace cuda2npu_sim
