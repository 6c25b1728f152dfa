#pragma once
// What PyTorch's generic code (autograd threads, torch.Stream, torch.Event, torch.accelerator) asks
// a device for. Every kernel has finished when its call returns, so that streams are only numbers
// and waiting does nothing; events keep the time.
//
// noexcept follows PyTorch 2.5, where getStream and exchangeStream must not throw; later versions
// allow it, but don't ask for it.

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/version.h>

#include <array>
#include <chrono>

#include "devices.h"

namespace cuda2npu_sim {

using Clock = std::chrono::steady_clock;

struct Event {
  Clock::time_point recorded;
};

inline thread_local std::array<c10::StreamId, kMaxDevices> current_stream_ids{};

class NpuGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kNpu; }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

  c10::Device getDevice() const override { return c10::Device(kNpu, current_device()); }
  void setDevice(c10::Device device) const override { set_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < device_count()) {
      current_device_index = device.index();
    }
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device previous = getDevice();
    setDevice(device);
    return previous;
  }

  c10::Stream getStream(c10::Device device) const noexcept override {
    const c10::DeviceIndex index = index_without_check(device);
    return make_stream(index, current_stream_ids[index]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return make_stream(index_or_current(device), 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high_priority*/) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    static std::atomic<c10::StreamId> next_id{1};
    return make_stream(index_or_current(device), next_id++);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    const c10::DeviceIndex index = index_without_check(stream.device());
    return make_stream(index, std::exchange(current_stream_ids[index], stream.id()));
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 6
  void synchronizeDevice(const c10::DeviceIndex) const override {}
#endif
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event;
    static_cast<Event*>(*event)->recorded = Clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    const auto passed = static_cast<Event*>(end)->recorded - static_cast<Event*>(start)->recorded;
    return std::chrono::duration<double, std::milli>(passed).count();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }

 private:
  static c10::DeviceIndex index_without_check(c10::Device device) noexcept {
    const c10::DeviceIndex index = device.index();
    return index >= 0 && index < kMaxDevices ? index : current_device();
  }
  static c10::Stream make_stream(c10::DeviceIndex index, c10::StreamId id) noexcept {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNpu, index), id);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, NpuGuard)

}  // namespace cuda2npu_sim
