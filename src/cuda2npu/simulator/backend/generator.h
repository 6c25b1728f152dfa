#pragma once
// Random numbers. An npu generator is a CPU generator under another device, and the default one of
// every npu device is the CPU's own: dropout and initialisation then draw what the CPU run draws,
// and the two runs can be compared digit by digit. (A real NPU has its own generator and other
// numbers.)

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

#include <vector>

#include "devices.h"

namespace cuda2npu_sim {

class NpuGenerator final : public c10::GeneratorImpl {
 public:
  NpuGenerator(c10::DeviceIndex device, at::Generator host)
      : c10::GeneratorImpl(c10::Device(kNpu, device),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host_(std::move(host)) {}

  const at::Generator& host() const { return host_; }

  void set_current_seed(uint64_t seed) override { host_.set_current_seed(seed); }
  uint64_t current_seed() const override { return host_.current_seed(); }
  uint64_t seed() override { return host_.seed(); }
  // A CPU generator counts no offset; its place in the sequence is part of its state.
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override {
    host_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  NpuGenerator* clone_impl() const override {
    return new NpuGenerator(device().index(), host_.clone());
  }

  at::Generator host_;
};

inline at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<NpuGenerator>(device < 0 ? current_device() : device,
                                          at::detail::createCPUGenerator());
}

inline const at::Generator& default_generator(c10::DeviceIndex device) {
  static const auto* generators = [] {
    auto* all = new std::vector<at::Generator>;
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
      all->push_back(at::make_generator<NpuGenerator>(i, at::detail::getDefaultCPUGenerator()));
    }
    return all;
  }();
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  check_device(index);
  return (*generators)[index];
}

inline const at::Generator& host_generator(const at::Generator& generator) {
  TORCH_CHECK(generator.device().type() == kNpu,
              "Expected a 'npu' device type for generator but found '", generator.device().type(),
              "'");
  return static_cast<NpuGenerator*>(generator.unsafeGetGeneratorImpl())->host();
}

}  // namespace cuda2npu_sim
