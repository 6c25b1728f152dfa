#pragma once
// Pinned (page-locked) host memory. There is nothing to lock for: the allocator only remembers its
// pointers, so that is_pinned() answers as it does beside a real device.

#include <c10/core/Allocator.h>

#include <mutex>
#include <unordered_set>

namespace cuda2npu_sim {

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    // Nothing allocated is still pinned, and needs a pointer of its own to be known by.
    auto* memory =
        new c10::DataPtr(c10::GetAllocator(c10::DeviceType::CPU)->allocate(bytes == 0 ? 1 : bytes));
    const std::lock_guard<std::mutex> lock(mutex_);
    pinned_.insert(memory->get());
    return c10::DataPtr(memory->get(), memory, &free, c10::Device(c10::DeviceType::CPU));
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  bool contains(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pinned_.count(pointer) > 0;
  }

 private:
  static void free(void* context);

  std::mutex mutex_;
  std::unordered_set<const void*> pinned_;
};

inline PinnedAllocator* pinned_allocator() {
  static auto* allocator = new PinnedAllocator;  // never destroyed, as storages may outlive it
  return allocator;
}

inline void PinnedAllocator::free(void* context) {
  auto* memory = static_cast<c10::DataPtr*>(context);
  {
    const std::lock_guard<std::mutex> lock(pinned_allocator()->mutex_);
    pinned_allocator()->pinned_.erase(memory->get());
  }
  delete memory;
}

}  // namespace cuda2npu_sim
