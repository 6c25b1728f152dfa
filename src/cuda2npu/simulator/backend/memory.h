#pragma once
// Memory of the npu devices. It is host memory: an npu storage owns a CPU storage and shows the
// same bytes under another device. As there is exactly one CPU storage for each npu storage, CPU
// kernels see which tensors share memory, and what one of them writes, all see.

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <array>
#include <atomic>

#include "devices.h"
#include "limit.h"

namespace cuda2npu_sim {

class DeviceMemory {
 public:
  void add(int64_t bytes) noexcept {
    const int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t highest = peak_.load(std::memory_order_relaxed);
    while (now > highest && !peak_.compare_exchange_weak(highest, now)) {
    }
  }
  int64_t used() const noexcept { return used_; }
  int64_t peak() const noexcept { return peak_; }
  void reset_peak() noexcept { peak_ = used_.load(); }

 private:
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> peak_{0};
};

inline DeviceMemory& memory_of(c10::DeviceIndex device) {
  static std::array<DeviceMemory, kMaxDevices> all;
  return all[device];
}

// What an npu storage owns: its CPU storage, and its share in the device's used bytes.
class Block {
 public:
  Block(c10::Storage host, c10::DeviceIndex device) : host_(std::move(host)), device_(device) {
    check_free_memory(static_cast<int64_t>(host_.nbytes()), memory_of(device).used(), device);
    count();
  }
  ~Block() { memory_of(device_).add(-counted_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const c10::Storage& host() const { return host_; }
  c10::DeviceIndex device() const { return device_; }

  // Again after the CPU storage was resized.
  void count() {
    const auto bytes = static_cast<int64_t>(host_.nbytes());
    memory_of(device_).add(bytes - counted_);
    counted_ = bytes;
  }

  static void destroy(void* block) { delete static_cast<Block*>(block); }

 private:
  c10::Storage host_;
  c10::DeviceIndex device_;
  int64_t counted_ = 0;
};

inline c10::Storage allocate_host(size_t bytes) {
  auto* allocator = c10::GetAllocator(c10::DeviceType::CPU);
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, allocator->allocate(bytes), allocator,
                      /*resizable=*/true);
}

inline c10::DataPtr show_on_npu(c10::Storage host, c10::DeviceIndex device) {
  void* data = host.mutable_data();
  return c10::DataPtr(data, new Block(std::move(host), device), &Block::destroy,
                      c10::Device(kNpu, device));
}

class NpuAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::DeviceIndex device = current_device();
    // First, as the host may have even less.
    check_free_memory(static_cast<int64_t>(bytes), memory_of(device).used(), device);
    return show_on_npu(allocate_host(bytes), device);
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

inline NpuAllocator* npu_allocator() {
  static auto* allocator =
      new NpuAllocator;  // never destroyed: storages may outlive static objects
  return allocator;
}

inline c10::Storage make_npu_storage(c10::Storage host, c10::DeviceIndex device) {
  const size_t bytes = host.nbytes();
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, show_on_npu(std::move(host), device),
                      npu_allocator(), /*resizable=*/true);
}

// Memory that something else labelled as npu (from_blob, DLPack) gets its CPU storage at first use.
inline void adopt_foreign_memory(c10::StorageImpl& npu) {
  const c10::DeviceIndex device = npu.device().index();
  auto* foreign = new c10::DataPtr(npu.set_data_ptr(c10::DataPtr(nullptr, npu.device())));
  c10::DataPtr data(
      foreign->get(), foreign, [](void* p) { delete static_cast<c10::DataPtr*>(p); },
      c10::Device(c10::DeviceType::CPU));
  c10::Storage host(c10::Storage::use_byte_size_t(), npu.nbytes(), std::move(data),
                    c10::GetAllocator(c10::DeviceType::CPU), /*resizable=*/npu.resizable());
  npu.set_data_ptr_noswap(show_on_npu(std::move(host), device < 0 ? current_device() : device));
}

inline Block& block_of(c10::StorageImpl& npu) {
  if (npu.data_ptr().get_deleter() != &Block::destroy) adopt_foreign_memory(npu);
  return *static_cast<Block*>(npu.data_ptr().get_context());
}

// The CPU storage was resized, and may lie elsewhere now: let the npu storage show it again.
inline void follow_host(c10::StorageImpl& npu) {
  Block& block = block_of(npu);
  if (block.host().data() == npu.data() && block.host().nbytes() == npu.nbytes()) return;
  c10::DataPtr old = npu.set_data_ptr(c10::DataPtr());
  old.release_context();  // the block lives on behind the new pointer
  npu.set_data_ptr_noswap(c10::DataPtr(block.host().mutable_data(), &block, &Block::destroy,
                                       c10::Device(kNpu, block.device())));
  npu.set_nbytes(block.host().nbytes());
  block.count();
}

REGISTER_ALLOCATOR(kNpu, npu_allocator())

}  // namespace cuda2npu_sim
