#pragma once
// What the fallback must know of an operator. It is worked out once from the schema, so that a call
// looks at nothing but its own arguments; and it counts the calls.

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace cuda2npu_sim {

struct Argument {
  size_t index;
  bool written;      // in-place and out= arguments
  bool returned;     // and handed back as a result
  bool accepts_cpu;  // a CPU tensor beside npu tensors is no mistake here
};

struct Operator {
  Operator(c10::OperatorHandle handle, c10::DispatchKey host_key);

  c10::OperatorHandle handle;
  std::string name;           // "aten::add", without the overload
  c10::DispatchKey host_key;  // whose kernel runs: CPU, SparseCPU, NestedTensorCPU
  size_t argument_count;
  size_t return_count;
  std::vector<Argument> arguments;     // only those that can hold a tensor, a device or the like
  std::vector<int> returned_argument;  // for each result: the in-place argument that it is, or -1
  bool returns_host_tensor;
  std::atomic<int64_t> calls{0};
};

// Operators that take CPU tensors beside device tensors on real accelerators, too: those by which
// something is indexed, CTC's targets and lengths, and the lengths in a packed sequence.
inline bool accepts_cpu(const std::string& name, const std::string& argument) {
  static const std::set<std::pair<std::string, std::string>> accepted = {
      {"aten::index", "indices"},
      {"aten::index_put", "indices"},
      {"aten::index_put_", "indices"},
      {"aten::_index_put_impl_", "indices"},
      {"aten::_unsafe_index", "indices"},
      {"aten::_unsafe_index_put", "indices"},
      {"aten::_ctc_loss", "targets"},
      {"aten::_ctc_loss", "input_lengths"},
      {"aten::_ctc_loss", "target_lengths"},
      {"aten::_ctc_loss_backward", "targets"},
      {"aten::_ctc_loss_backward", "input_lengths"},
      {"aten::_ctc_loss_backward", "target_lengths"},
      {"aten::lstm", "batch_sizes"},
      {"aten::gru", "batch_sizes"},
      {"aten::rnn_tanh", "batch_sizes"},
      {"aten::rnn_relu", "batch_sizes"},
  };
  return accepted.count({name, argument}) > 0;
}

inline bool returns_host_tensor(const std::string& name) {
  return name == "aten::_nested_tensor_size" || name == "aten::_nested_tensor_strides" ||
         name == "aten::_nested_tensor_storage_offsets";
}

// Numbers, strings and dtypes can be handed to a CPU kernel as they are; these can't.
inline bool concerns_device(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::GeneratorType:
    case c10::TypeKind::StorageType:
    case c10::TypeKind::AnyType:
      return true;
    default:
      break;
  }
  for (const c10::TypePtr& contained : type->containedTypes()) {
    if (concerns_device(contained)) return true;
  }
  return false;
}

inline bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

inline int index_of_returned_argument(const c10::FunctionSchema& schema,
                                      const c10::Argument& result) {
  if (!is_written(result)) return -1;
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(arguments[i]) && *arguments[i].alias_info() == *result.alias_info()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

inline Operator::Operator(c10::OperatorHandle op, c10::DispatchKey key)
    : handle(op),
      name(op.schema().name()),
      host_key(key),
      argument_count(op.schema().arguments().size()),
      return_count(op.schema().returns().size()),
      returns_host_tensor(cuda2npu_sim::returns_host_tensor(name)) {
  const c10::FunctionSchema& schema = op.schema();
  for (const c10::Argument& result : schema.returns()) {
    returned_argument.push_back(index_of_returned_argument(schema, result));
  }
  for (size_t i = 0; i < argument_count; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (!concerns_device(argument.type())) continue;
    const bool returned = std::count(returned_argument.begin(), returned_argument.end(), i) > 0;
    arguments.push_back({i, is_written(argument), returned, accepts_cpu(name, argument.name())});
  }
}

inline c10::OperatorHandle find_aten(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name.substr(0, dot)).c_str(),
                                                        overload.c_str());
}

// All operators that can run; their addresses stay.
class OperatorTable {
 public:
  Operator& add(const c10::OperatorHandle& handle, c10::DispatchKey host_key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return operators_.emplace_back(handle, host_key);
  }

  Operator& find_or_add(const c10::OperatorHandle& handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Operator*& op = by_name_[handle.operator_name()];
    if (op == nullptr) op = &operators_.emplace_back(handle, c10::DispatchKey::CPU);
    return *op;
  }

  // One line "name calls" for each operator that was called, sorted by name, overloads together.
  std::string counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<std::string, int64_t> calls;
    for (const Operator& op : operators_) {
      if (op.calls > 0) calls[op.name] += op.calls;
    }
    std::string lines;
    for (const auto& [name, count] : calls) lines += name + " " + std::to_string(count) + "\n";
    return lines;
  }

  void reset_counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Operator& op : operators_) op.calls = 0;
  }

 private:
  std::mutex mutex_;
  std::deque<Operator> operators_;
  // Those that find_or_add() was asked for.
  std::unordered_map<c10::OperatorName, Operator*> by_name_;
};

inline OperatorTable& operator_table() {
  static auto* table = new OperatorTable;  // never destroyed: kernels may run until the very end
  return *table;
}

}  // namespace cuda2npu_sim
