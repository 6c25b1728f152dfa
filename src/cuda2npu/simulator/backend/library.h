#pragma once
// Ties the backend together: start() registers the fallback, and torch.ops.cuda2npu_sim.* are what
// the Python side builds torch.npu from.

#include <c10/core/AutogradState.h>
#include <torch/library.h>

#include "autocast.h"
#include "convolution.h"
#include "kernels.h"
#include "rnn.h"

namespace cuda2npu_sim {

struct Route {
  c10::DispatchKey npu;
  c10::DispatchKey host;
};

// Asked of the tensor itself, or of its pinned host memory: PyTorch's answers for any device are
// right, while a CPU kernel would be asked about the alias.
inline bool is_about_placement(const std::string& name) {
  return name == "aten::is_pinned" || name == "aten::_pin_memory";
}

// Every operator that has a CPU kernel goes straight to that, and not the way over another operator
// (mean over mean.out) that PyTorch would find: it has been wrong for half precision in 2.5.
inline void register_fallback(const Route& route) {
  // Kept for the life of the process.
  auto* library = new torch::Library(torch::Library::IMPL, "aten", route.npu, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(route.host)) {
    if (name.getNamespace() != "aten" || is_about_placement(name.name)) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || op->hasKernelForDispatchKey(route.npu)) continue;
    library->impl(toString(name).c_str(), host_kernel(*op, route.host));
  }
}

// PyTorch gives each device a thread for its backward passes. On host memory that thread would
// bring a second team of OpenMP threads, and the two teams would keep the cores from each other (a
// small ResNet-50 step took 1.6 times as long). So this thread runs its backward passes itself, as
// it does for CPU tensors; autograd still makes the device of each function the current one.
inline void run_backward_in_this_thread() {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

inline void start() {
  check_device_count_setting();
  check_memory_setting();
  run_backward_in_this_thread();
  static const bool started = [] {
    register_whole_layers(c10::DispatchKey::PrivateUse1);
    register_whole_layers(c10::DispatchKey::AutogradPrivateUse1);
    register_convolution();
    register_fallback({c10::DispatchKey::PrivateUse1, c10::DispatchKey::CPU});
    register_fallback({c10::DispatchKey::SparsePrivateUse1, c10::DispatchKey::SparseCPU});
    register_fallback(
        {c10::DispatchKey::NestedTensorPrivateUse1, c10::DispatchKey::NestedTensorCPU});
    return true;
  }();
  (void)started;
}

inline at::Tensor cpu_alias(const at::Tensor& tensor) {
  CallAliases aliases;
  return host_or_same(aliases, tensor);
}

inline DeviceMemory& checked_memory_of(int64_t device) {
  check_device(device);
  return memory_of(static_cast<c10::DeviceIndex>(device));
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_unknown_on_host>());
}

TORCH_LIBRARY(cuda2npu_sim, m) {
  m.def("start() -> ()", &start);

  m.def("device_count() -> int", [] { return static_cast<int64_t>(device_count()); });
  m.def("current_device() -> int", [] { return static_cast<int64_t>(current_device()); });
  m.def("set_device(int device) -> ()", [](int64_t device) { set_device(device); });

  m.def("memory_of_each_device() -> int", [] { return memory_of_each_device(); });
  m.def("raise_plain_out_of_memory() -> ()", [] { out_of_memory_has_a_class = false; });
  m.def("memory_allocated(int device) -> int",
        [](int64_t device) { return checked_memory_of(device).used(); });
  m.def("max_memory_allocated(int device) -> int",
        [](int64_t device) { return checked_memory_of(device).peak(); });
  m.def("reset_peak_memory(int device) -> ()",
        [](int64_t device) { checked_memory_of(device).reset_peak(); });

  // What draws where no generator is named. PyTorch's schemas know generators only as "Generator?".
  m.def("default_generator(int device) -> Generator?", [](int64_t device) {
    return std::optional<at::Generator>(
        default_generator(static_cast<c10::DeviceIndex>(device)));
  });

  // A CPU tensor over the same memory, for collectives. A CPU tensor is returned as it is.
  m.def("cpu_alias(Tensor(a) tensor) -> Tensor(a)", &cpu_alias);

  m.def("cast_on_cpu_as_on_cuda() -> ()", &cast_on_cpu_as_on_cuda);

  // Lines of "aten::add 12": the operator without its overload, a space, how often it ran on an npu
  // device since the start or the last reset. Views and allocations run nothing and aren't counted,
  // nor are copies between devices.
  m.def("operator_counts() -> str", [] { return operator_table().counts(); });
  m.def("reset_operator_counts() -> ()", [] { operator_table().reset_counts(); });
}

}  // namespace cuda2npu_sim
