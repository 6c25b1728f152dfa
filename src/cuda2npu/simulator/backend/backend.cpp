// The simulated NPU: a PyTorch backend whose "npu" devices are host memory, and whose kernels are
// the CPU's. Everything is included here, as one file compiles in half the time of two: most of it
// is spent on PyTorch's headers.
//
//   devices.h       which devices exist, and which one a thread works on
//   memory.h        an npu storage owns a CPU storage; used and peak bytes
//   pinned.h        pinned host memory
//   guard.h         streams and events for PyTorch's generic code
//   generator.h     random numbers, the CPU's
//   hooks.h         what PyTorch's Python API asks a backend for
//   alias.h         npu tensor <-> CPU tensor without a copy, for one call
//   operators.h     what the fallback knows of each operator; the counts
//   device_check.h  "Expected all tensors to be on the same device"
//   fallback.h      the one kernel of all operators
//   kernels.h       the operators that need their own
//   convolution.h   ... and why convolution does
//   rnn.h           LSTM and GRU as whole layers
//   autocast.h      torch.autocast("npu")
//   library.h       registration, and torch.ops.cuda2npu_sim
//
// PyTorch 2.5 to 2.14. The C++ API that is used here changes little; where it does, #if says so.

#include "devices.h"
#include "memory.h"
#include "pinned.h"
#include "guard.h"
#include "generator.h"
#include "hooks.h"
#include "alias.h"
#include "operators.h"
#include "device_check.h"
#include "fallback.h"
#include "kernels.h"
#include "convolution.h"
#include "rnn.h"
#include "autocast.h"
#include "library.h"
