#include <farro/autograd/tape_meter.hpp>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <farro/autograd/record.hpp>

namespace farro {
namespace autograd {

/// The counts of one meter. Lives as long as what it counts.
struct TapeMeterState {
  std::shared_ptr<TapeMeterState> outer;
  int64_t recorded_before = 0;

  std::mutex mutex;
  std::unordered_map<const Storage*, int64_t> uses;
  int64_t tensors = 0, bytes = 0, peak = 0;

  void add(const Storage* storage) {
    std::lock_guard lock(mutex);
    if (storage && uses[storage]++ == 0) {
      bytes += static_cast<int64_t>(storage->bytes());
      peak = std::max(peak, bytes);
    }
    ++tensors;
  }
  void remove(const Storage* storage) {
    std::lock_guard lock(mutex);
    --tensors;
    if (!storage) return;
    auto entry = uses.find(storage);
    if (--entry->second > 0) return;
    bytes -= static_cast<int64_t>(storage->bytes());
    uses.erase(entry);
  }
};

namespace {

thread_local std::shared_ptr<TapeMeterState> innermost;

/// A node that only takes the next number of its thread.
struct Probe final : Node {
  Probe() { number(); }
  std::string name() const override { return "Probe"; }
  void apply(Grads&, Grads&) override {}
};

/// Nodes of this thread so far, those aside that were made to look.
int64_t recorded() {
  static thread_local int64_t probes = 0;
  auto number = static_cast<int64_t>(IntrusivePtr<Probe>::fresh(new Probe)->sequence());
  return number - ++probes;
}

}  // namespace

MeteredTensor::MeteredTensor(const Tensor& tensor) {
  if (!innermost) return;
  if (tensor.defined()) storage_ = tensor.storage();
  std::shared_ptr<TapeMeterState> done;
  try {
    for (auto meter = innermost; meter; meter = meter->outer) {
      meter->add(storage_.get());
      done = meter;
    }
  } catch (...) {
    for (auto meter = innermost; done && meter; meter = meter == done ? nullptr : meter->outer)
      meter->remove(storage_.get());
    throw;
  }
  meter_ = innermost;
}

MeteredTensor::~MeteredTensor() {
  for (auto meter = meter_; meter; meter = meter->outer) meter->remove(storage_.get());
}

}  // namespace autograd

TapeMeter::TapeMeter() : state_(std::make_shared<autograd::TapeMeterState>()) {
  state_->recorded_before = autograd::recorded();
  state_->outer = std::exchange(autograd::innermost, state_);
  packs_outside_ = std::exchange(autograd::packs_saved_tensors, true);
}

TapeMeter::~TapeMeter() {
  autograd::innermost = state_->outer;
  autograd::packs_saved_tensors = packs_outside_;
}

TapeMeterStats TapeMeter::stats() const {
  int64_t nodes = autograd::recorded() - state_->recorded_before;
  std::lock_guard lock(state_->mutex);
  return {nodes, state_->tensors, state_->bytes, state_->peak};
}

void TapeMeter::reset_peak() {
  std::lock_guard lock(state_->mutex);
  state_->peak = state_->bytes;
}

}  // namespace farro
