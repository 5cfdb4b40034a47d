#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <support/compare.hpp>

/// A training step that passes through every place where a user's code, or a kernel, runs.
namespace farro::test {

/// What a place throws.
struct Injected : std::runtime_error {
  Injected() : std::runtime_error("injected") {}
};

/// Counts the places that a step passes, and throws at one of them.
class Places {
 public:
  /// The place that throws, counted from 1; 0 for none.
  void start(int64_t number) {
    number_ = number;
    passed_ = 0;
  }
  void pass(const std::string& kind) {
    if (++passed_ != number_) return;
    ++thrown_[kind];
    throw Injected();
  }
  int64_t passed() const { return passed_; }
  /// How often each kind of place threw.
  const std::map<std::string, int>& thrown() const { return thrown_; }

 private:
  int64_t number_ = 0;
  int64_t passed_ = 0;
  std::map<std::string, int> thrown_;
};

/// A small network: convolution, normalisation, a custom function, a checkpointed block, dropout,
/// an operation in place, tensors whose saving is packed, and, if wanted, hooks in all places,
/// which pass `places`.
class TrainingStep {
 public:
  enum class Hooks { None, Everywhere };

  TrainingStep(Device device, DType dtype, Places& places, Hooks hooks);
  ~TrainingStep();
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Returns the loss; leaves its gradients in the parameters. With `penalty`, the squares of the
  /// gradients are added to it, so that backward runs within a graph that backward made.
  Tensor forward_backward(bool penalty);
  std::vector<Tensor> parameters() const;
  void zero_grad() const;
  /// Of the loss and all gradients.
  uint64_t result_of(const Tensor& loss) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of the bits of all of them.
uint64_t hash_of(const std::vector<Tensor>& tensors);

/// Empty if this thread is as it is outside of everything: recording, with no backward running and
/// no packing of saved tensors.
std::string trace_left_behind();

}  // namespace farro::test
