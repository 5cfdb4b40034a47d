#pragma once

#include <farro/backends/config.hpp>

namespace farro {

namespace autograd {

/// What the calling thread records. Scopes below change it.
struct ThreadModes {
  bool grad = true;
  bool inference = false;
};
FARRO_FAST_TLS extern constinit thread_local ThreadModes thread_modes;

}  // namespace autograd

/// True where operations are recorded.
inline bool grad_mode_enabled() { return autograd::thread_modes.grad; }
inline bool inference_mode_enabled() { return autograd::thread_modes.inference; }

/// Sets the thread's modes for a scope and restores them at its end; scopes nest in any order.
class SetGradEnabled {
 public:
  explicit SetGradEnabled(bool enabled) : previous_(autograd::thread_modes) {
    autograd::thread_modes.grad = enabled;
  }
  ~SetGradEnabled() { autograd::thread_modes = previous_; }
  SetGradEnabled(const SetGradEnabled&) = delete;
  SetGradEnabled& operator=(const SetGradEnabled&) = delete;

 protected:
  autograd::ThreadModes previous_;
};

/// Operations in this scope are not recorded.
struct NoGrad : SetGradEnabled {
  NoGrad() : SetGradEnabled(false) {}
};

/// Operations in this scope are recorded, inside NoGrad too.
struct EnableGrad : SetGradEnabled {
  EnableGrad() : SetGradEnabled(true) {}
};

/// Nothing is recorded, and tensors made here stay outside every graph: they can't be saved for
/// backward, changed in place in grad mode, or set to require grad.
struct InferenceMode : SetGradEnabled {
  explicit InferenceMode(bool enabled = true) : SetGradEnabled(!enabled) {
    autograd::thread_modes.inference = enabled;
  }
};

}  // namespace farro
