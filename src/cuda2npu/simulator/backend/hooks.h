#pragma once
// The hooks by which PyTorch's own code reaches this backend: torch.accelerator, pin_memory,
// torch.Generator(device=...), UntypedStorage.resize_.

#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/version.h>

#include "generator.h"
#include "memory.h"
#include "pinned.h"

namespace cuda2npu_sim {

class NpuHooks final : public at::PrivateUse1HooksInterface {
 public:
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 7
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
#endif
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }

  c10::DeviceIndex deviceCount() const override { return device_count(); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const c10::DeviceIndex previous = current_device();
    set_device(device);
    return previous;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? current_device() : exchangeDevice(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 6
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device);
  }
#endif

  at::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  bool isPinnedPtr(const void* pointer) const override {
    return pinned_allocator()->contains(pointer);
  }
  // Asked when memory comes from elsewhere, without a device: host memory doesn't tell.
  at::Device getDeviceFromPtr(void*) const override { return at::Device(kNpu, current_device()); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    c10::StorageImpl& npu = *storage.unsafeGetStorageImpl();
    c10::StorageImpl& host = *block_of(npu).host().unsafeGetStorageImpl();
    c10::DataPtr data = host.allocator()->allocate(bytes);
    const size_t kept = std::min(bytes, host.nbytes());
    if (kept > 0) std::memcpy(data.get(), host.data(), kept);
    host.set_data_ptr_noswap(std::move(data));
    host.set_nbytes(bytes);
    follow_host(npu);
  }
};

}  // namespace cuda2npu_sim

namespace {
const bool hooks_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new cuda2npu_sim::NpuHooks);
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 6
  static const at::_GeneratorRegister generator(
      at::GeneratorFuncType(&cuda2npu_sim::new_generator));
#endif
  return true;
}();
}  // namespace
