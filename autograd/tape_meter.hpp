#pragma once

/// What recording costs, while it happens.
///
///     TapeMeter meter;
///     loss(net).backward();
///     print(meter.stats().peak_saved_bytes);

#include <cstdint>
#include <memory>

#include <farro/autograd/tensor.hpp>

namespace farro {

struct TapeMeterStats {
  int64_t nodes = 0;          ///< recorded since the meter was made, ends at leaves included
  int64_t saved_tensors = 0;  ///< that those nodes, and checkpoints that were run again, keep now
  int64_t saved_bytes = 0;    ///< of the distinct memory that those keep alive now
  int64_t peak_saved_bytes = 0;  ///< the most of it since the meter was made, or since reset_peak
};

namespace autograd {
struct TapeMeterState;
}

/// While it lives, it counts what this thread's operations record, in the graphs of derivatives
/// too; graphs may then be used, and freed, by any thread, and outlive the meter. Of what a
/// SavedTensors scope packs, tensors count. Of meters within each other each counts all. Nothing is
/// counted, and nothing slower, where none lives. A graph that leads to one that another thread
/// recorded may make `nodes` too large.
class TapeMeter {
 public:
  TapeMeter();
  ~TapeMeter();
  TapeMeter(const TapeMeter&) = delete;
  TapeMeter& operator=(const TapeMeter&) = delete;

  /// By the thread that made the meter.
  TapeMeterStats stats() const;
  /// Lets the peak begin again at what is kept now.
  void reset_peak();

 private:
  std::shared_ptr<autograd::TapeMeterState> state_;
  bool packs_outside_ = false;
};

namespace autograd {

/// Counts a tensor as saved in the meters of the thread that makes it, while it lives; an undefined
/// one without memory.
class MeteredTensor {
 public:
  MeteredTensor() = default;
  explicit MeteredTensor(const Tensor& tensor);
  MeteredTensor(MeteredTensor&& other) noexcept = default;
  MeteredTensor& operator=(MeteredTensor&& other) noexcept {
    std::swap(meter_, other.meter_);
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~MeteredTensor();

 private:
  std::shared_ptr<TapeMeterState> meter_;
  IntrusivePtr<Storage> storage_;
};

}  // namespace autograd

}  // namespace farro
