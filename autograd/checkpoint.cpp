#include <farro/autograd/checkpoint.hpp>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/saved_tensors.hpp>
#include <farro/autograd/tape_meter.hpp>
#include <farro/backends/random.hpp>

#include <mutex>

namespace farro::autograd {
namespace {

/// A block that can be run again. Kept alive by what its tensors were packed into.
class Recomputation : public std::enable_shared_from_this<Recomputation> {
 public:
  Recomputation(Block block, std::vector<Tensor> inputs)
      : block_(std::move(block)), inputs_(std::move(inputs)), random_(default_generator().state()) {
    for (const Tensor& x : inputs_) {
      versions_.push_back(x.defined() ? x.version() : 0);
      meters_.emplace_back(x);
    }
  }

  std::vector<Tensor> run() {
    auto self = shared_from_this();
    SavedTensors pack(
        [self](const Tensor& t) { return std::make_shared<Place>(self, self->note(t)); },
        [](const std::shared_ptr<Place>& place) { return place->of->value(place->number); });
    return block_(inputs_);
  }

 private:
  /// Stands for a tensor that the tape keeps. What was recomputed for it goes with it.
  struct Place {
    Place(std::shared_ptr<Recomputation> recomputation, size_t place)
        : of(std::move(recomputation)), number(place) {}
    Place(const Place&) = delete;
    ~Place() { of->forget(number); }
    std::shared_ptr<Recomputation> of;
    size_t number;
  };
  struct Form {
    Dims sizes;
    DType dtype;
  };

  size_t note(const Tensor& t) {
    forms_.push_back({t.sizes(), t.dtype()});
    return forms_.size() - 1;
  }

  Tensor value(size_t place) {
    std::lock_guard lock(mutex_);
    if (values_.empty() || !values_[place].tensor.defined()) {
      values_ = recomputed();
      Tensor result = values_[place].tensor;
      // Kept for the rest of this backward only, where it retains its graph; at once gone where
      // none runs.
      try {
        after_backward([self = shared_from_this()] { self->forget_all(); });
      } catch (...) {
        values_.clear();
        throw;
      }
      return result;
    }
    return values_[place].tensor;
  }
  void forget(size_t place) {
    std::lock_guard lock(mutex_);
    if (place < values_.size()) values_[place] = {};
  }
  void forget_all() {
    std::lock_guard lock(mutex_);
    values_.clear();
  }

  struct Value {
    Tensor tensor;
    MeteredTensor meter;
  };
  std::vector<Value> recomputed() const;

  Block block_;
  std::vector<Tensor> inputs_;
  std::vector<uint32_t> versions_;
  std::vector<MeteredTensor> meters_;
  Philox random_;
  std::vector<Form> forms_;
  std::vector<Value> values_;
  std::recursive_mutex mutex_;
};

/// Puts the default generator back where it was.
class RandomState {
 public:
  explicit RandomState(const Philox& state) : outside_(default_generator().state()) {
    default_generator().set_state(state);
  }
  ~RandomState() { default_generator().set_state(outside_); }

 private:
  Philox outside_;
};

std::vector<Recomputation::Value> Recomputation::recomputed() const {
  std::vector<Tensor> inputs;
  std::vector<Value> values;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& x = inputs_[i];
    if (x.defined() && x.version() != versions_[i]) {
      fail<GradError>(
          "checkpoint",
          "input {} of shape {} was changed in place before backward: expected version {}, got {}",
          i, to_string(x.sizes()), versions_[i], x.version());
    }
    inputs.push_back(!x.defined()        ? x
                     : x.requires_grad() ? x.detach().requires_grad_()
                                         : x.detach());
  }
  {
    EnableGrad recording;
    RandomState random(random_);
    SavedTensors collect(
        [&](const Tensor& t) {
          values.push_back({t.detach(), MeteredTensor(t)});
          return t;
        },
        [](const Tensor& t) { return t; });
    block_(inputs);
  }
  if (values.size() != forms_.size()) {
    fail<GradError>(
        "checkpoint",
        "expected the block to save {} tensors as in the forward, got {} when it was run again",
        forms_.size(), values.size());
  }
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k].tensor.sizes() == forms_[k].sizes && values[k].tensor.dtype() == forms_[k].dtype)
      continue;
    fail<GradError>(
        "checkpoint",
        "expected saved tensor {} to be of shape {}, {} as in the forward, got {}, {} when the "
        "block was run again",
        k, to_string(forms_[k].sizes), name_of(forms_[k].dtype),
        to_string(values[k].tensor.sizes()), name_of(values[k].tensor.dtype()));
  }
  return values;
}

}  // namespace

std::vector<Tensor> checkpoint(Block block, std::vector<Tensor> inputs) {
  return std::make_shared<Recomputation>(std::move(block), std::move(inputs))->run();
}

}  // namespace farro::autograd
