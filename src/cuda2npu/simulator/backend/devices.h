#pragma once
// Which npu devices exist, and which of them each thread works on.

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <cstdlib>

namespace cuda2npu_sim {

// PyTorch's slot for a device that it doesn't ship. The Python side renames it to "npu".
constexpr c10::DeviceType kNpu = c10::DeviceType::PrivateUse1;

constexpr int kMaxDevices = 64;
constexpr int kDefaultDevices = 8;  // a server with Ascend 910B has eight
constexpr const char* kDeviceCountVariable = "CUDA2NPU_SIM_DEVICES";

constexpr int kInvalidSetting = -1;

inline int device_count_setting() noexcept {
  static const int setting = [] {
    const char* text = std::getenv(kDeviceCountVariable);
    if (text == nullptr || *text == '\0') return kDefaultDevices;
    char* end = nullptr;
    const long count = std::strtol(text, &end, 10);
    const bool valid = *end == '\0' && count >= 0 && count <= kMaxDevices;
    return valid ? static_cast<int>(count) : kInvalidSetting;
  }();
  return setting;
}

// PyTorch asks for the number where nothing may be thrown, so that an invalid setting counts as no
// device there; start() is what complains about it.
inline c10::DeviceIndex device_count() noexcept {
  const int setting = device_count_setting();
  return static_cast<c10::DeviceIndex>(setting == kInvalidSetting ? 0 : setting);
}

inline void check_device_count_setting() {
  TORCH_CHECK(device_count_setting() != kInvalidSetting, kDeviceCountVariable,
              " must be a whole number from 0 to ", kMaxDevices, ", not '",
              std::getenv(kDeviceCountVariable), "'");
}

inline void check_device(int64_t index) {
  TORCH_CHECK(index >= 0 && index < device_count(), "Invalid NPU device ordinal ", index,
              ": the simulator has ", static_cast<int>(device_count()), " device(s), see ",
              kDeviceCountVariable);
}

inline thread_local c10::DeviceIndex current_device_index = 0;

inline c10::DeviceIndex current_device() noexcept {
  return current_device_index;
}

inline void set_device(int64_t index) {
  check_device(index);
  current_device_index = static_cast<c10::DeviceIndex>(index);
}

// "npu" without an index means the current device.
inline c10::DeviceIndex index_or_current(c10::Device device) {
  if (!device.has_index()) return current_device();
  check_device(device.index());
  return device.index();
}

}  // namespace cuda2npu_sim
