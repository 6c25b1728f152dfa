#pragma once
// How much memory each npu device has. A program that asks for more gets the error of a device, so
// that what it does then can be tried: CUDA2NPU_SIM_MEMORY=2GiB.

#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace cuda2npu_sim {

constexpr const char* kMemoryVariable = "CUDA2NPU_SIM_MEMORY";
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kDefaultMemory = 64 * 1024 * kMiB;  // an Ascend 910B with 64 GB
constexpr int64_t kInvalidMemory = -1;

// A whole number of MiB or GiB.
inline int64_t memory_of_each_device() noexcept {
  static const int64_t setting = [] {
    const char* text = std::getenv(kMemoryVariable);
    if (text == nullptr || *text == '\0') return kDefaultMemory;
    char* end = nullptr;
    const int64_t number = std::strtol(text, &end, 10);
    if (number <= 0 || number > 1024 * 1024) return kInvalidMemory;
    const std::string unit = end;
    if (unit == "MiB") return number * kMiB;
    return unit == "GiB" ? number * 1024 * kMiB : kInvalidMemory;
  }();
  return setting;
}

inline void check_memory_setting() {
  TORCH_CHECK(memory_of_each_device() != kInvalidMemory, kMemoryVariable,
              " must be a whole number of MiB or GiB such as 512MiB or 2GiB, not '",
              std::getenv(kMemoryVariable), "'");
}

// torch_npu up to 2.6 raises a plain RuntimeError.
inline std::atomic<bool> out_of_memory_has_a_class{true};

inline std::string in_mib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f MiB", static_cast<double>(bytes) / kMiB);
  return text;
}

inline void check_free_memory(int64_t wanted, int64_t used, int device) {
  const int64_t capacity = memory_of_each_device();
  if (wanted <= capacity - used) return;
  const std::string text = "NPU out of memory. Tried to allocate " + in_mib(wanted) + " (NPU " +
                           std::to_string(device) + "; " + in_mib(capacity) + " total capacity; " +
                           in_mib(used) + " already allocated), see " + kMemoryVariable;
  TORCH_CHECK_WITH(OutOfMemoryError, !out_of_memory_has_a_class, text);
  TORCH_CHECK(false, text);
}

}  // namespace cuda2npu_sim
