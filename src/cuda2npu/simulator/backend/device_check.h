#pragma once
// A real device refuses to compute with tensors of another one. So must the simulation, though its
// CPU kernels could: a forgotten .npu() is the mistake that users come to find.

#include <ATen/core/Tensor.h>

#include "alias.h"
#include "operators.h"

namespace cuda2npu_sim {

class DeviceCheck {
 public:
  explicit DeviceCheck(const Operator& op) : op_(op) {}

  void see(const at::Tensor& tensor, const Argument& argument) {
    if (!tensor.defined()) return;
    if (!is_npu(tensor)) {
      // A 0-dim CPU tensor is a number to a real device's kernels, but nothing that they write to.
      const bool is_number = tensor.dim() == 0 && tensor.is_cpu() && !argument.written;
      if (is_number || argument.accepts_cpu) return;
      see_stray(tensor.device(), argument);
    } else {
      see_npu(tensor.device(), argument);
    }
  }

  void see(const c10::Storage& storage, const Argument& argument) {
    if (storage.device().type() == kNpu) {
      see_npu(storage.device(), argument);
    } else {
      see_stray(storage.device(), argument);
    }
  }

  // A generator draws for tensors on its own device.
  void see(const at::Generator& generator) { has_generator_ |= generator.device().type() == kNpu; }

  // A device= argument says where the result shall be; tensors don't have to be there.
  void ask_for(c10::Device device) {
    if (device_ < 0) device_ = index_or_current(device);
  }

  // To be called when everything was seen.
  c10::DeviceIndex device() const {
    if (has_npu_ && stray_ != nullptr) fail(stray_device_, *stray_);
    TORCH_CHECK(!has_generator_ || stray_ == nullptr, "Expected a '", stray_device_.type(),
                "' device type for generator but found 'npu'");
    return device_ < 0 ? current_device() : device_;
  }

 private:
  void see_npu(c10::Device device, const Argument& argument) {
    if (has_npu_ && device.index() != device_) fail(device, argument);
    has_npu_ = true;
    device_ = device.index();
  }

  void see_stray(c10::Device device, const Argument& argument) {
    if (stray_ != nullptr) return;  // the message names the first one
    stray_ = &argument;
    stray_device_ = device;
  }

  [[noreturn]] void fail(c10::Device other, const Argument& argument) const {
    TORCH_CHECK(
        false, "Expected all tensors to be on the same device, but found at least two devices, ",
        c10::Device(kNpu, device_), " and ", other, "! (when checking argument for argument ",
        op_.handle.schema().arguments()[argument.index].name(), " in method ", op_.name, ")");
  }

  const Operator& op_;
  c10::DeviceIndex device_ = -1;
  bool has_npu_ = false;
  bool has_generator_ = false;
  const Argument* stray_ = nullptr;
  c10::Device stray_device_{c10::DeviceType::CPU};
};

}  // namespace cuda2npu_sim
