#include <farro/autograd/checkpoint.hpp>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/saved_tensors.hpp>
#include <farro/backends/random.hpp>

#include <mutex>

namespace farro::autograd {
namespace {

/// A block that can be run again. Kept alive by what its tensors were packed into.
class Recomputation : public std::enable_shared_from_this<Recomputation> {
 public:
  Recomputation(Block block, std::vector<Tensor> inputs)
      : block_(std::move(block)), inputs_(std::move(inputs)), random_(default_generator().state()) {
    for (const Tensor& x : inputs_) versions_.push_back(x.defined() ? x.version() : 0);
  }

  std::vector<Tensor> run() {
    auto self = shared_from_this();
    SavedTensors pack([self](const Tensor& t) { return self->note(t); },
                      [self](size_t place) { return self->value(place); });
    return block_(inputs_);
  }

 private:
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
    if (values_.empty()) {
      values_ = recomputed();
      Tensor result = values_[place];
      // Kept for the rest of this backward only; at once gone where none runs.
      after_backward([self = shared_from_this()] { self->values_.clear(); });
      return result;
    }
    return values_[place];
  }

  std::vector<Tensor> recomputed() const;

  Block block_;
  std::vector<Tensor> inputs_;
  std::vector<uint32_t> versions_;
  Philox random_;
  std::vector<Form> forms_;
  std::vector<Tensor> values_;
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

std::vector<Tensor> Recomputation::recomputed() const {
  std::vector<Tensor> inputs, values;
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
          values.push_back(t.detach());
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
    if (values[k].sizes() == forms_[k].sizes && values[k].dtype() == forms_[k].dtype) continue;
    fail<GradError>(
        "checkpoint",
        "expected saved tensor {} to be of shape {}, {} as in the forward, got {}, {} when the "
        "block was run again",
        k, to_string(forms_[k].sizes), name_of(forms_[k].dtype), to_string(values[k].sizes()),
        name_of(values[k].dtype()));
  }
  return values;
}

}  // namespace

std::vector<Tensor> checkpoint(Block block, std::vector<Tensor> inputs) {
  return std::make_shared<Recomputation>(std::move(block), std::move(inputs))->run();
}

}  // namespace farro::autograd
