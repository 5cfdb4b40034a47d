#pragma once

/// Optimizers: they change parameters in place, given the gradients that backward left in grad().
///
///     optim::Adam adam(net.parameters(), {.lr = 1e-3});
///     adam.zero_grad();
///     loss(net).backward();
///     adam.step();
///
/// A parameter is known by its identity, so that a module may be converted to another dtype or
/// device between steps: what the optimizer keeps of a parameter follows it at the next step. Each
/// step of a parameter is one kernel. 16-bit parameters are updated in float32, and what is kept of
/// them is float32.

#include <array>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/reflect.hpp>

namespace farro::optim {

/// What an optimizer keeps, by name: "state.3.exp_avg" of the parameter with number 3,
/// "param_groups.0.lr", ….
using StateDict = std::vector<std::pair<std::string, Tensor>>;

/// The parameters of a group: a list, or any range, of tensors.
struct Parameters : std::vector<Tensor> {
  Parameters() = default;
  Parameters(std::initializer_list<Tensor> list) : std::vector<Tensor>(list) {}
  template <std::ranges::input_range R>
  requires std::convertible_to<std::ranges::range_reference_t<R>, Tensor> &&
      (!std::same_as<std::remove_cvref_t<R>, Parameters>)Parameters(R&& range) {
    for (auto&& tensor : range) push_back(tensor);
  }
};

/// Parameters with options of their own.
template <class Options>
struct ParamGroup {
  Parameters params;
  Options options{};
};

/// What all optimizers have in common.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient.
  virtual void step() = 0;
  /// Computes the loss with gradients on, then steps; returns the loss.
  template <class F>
  Tensor step(const F& closure) {
    Tensor loss;
    {
      EnableGrad on;
      loss = closure();
    }
    step();
    return loss;
  }
  /// Drops the gradients, or fills them with zeros and cuts them off their graphs.
  void zero_grad(bool set_to_none = true);

  /// The parameters in the order of their numbers.
  Parameters parameters() const;
  size_t group_count() const { return groups_.size(); }

  /// Numbers as 0-d tensors; the others share memory with the optimizer.
  StateDict state_dict() const;
  /// Takes over copies of the state of an optimizer with groups of the same sizes, and its options.
  /// Throws KeyError, ShapeError, TypeError or ValueError and then leaves this one as it was.
  void load_state_dict(const StateDict& state);
  template <std::ranges::input_range R>
  requires(!std::same_as<std::remove_cvref_t<R>, StateDict>) void load_state_dict(const R& state) {
    StateDict list;
    for (const auto& [name, tensor] : state) list.emplace_back(name, tensor);
    load_state_dict(list);
  }

 protected:
  static constexpr size_t kMaxSlots = 3;

  /// What is kept of one parameter: its steps so far and, in the parameter's shape, the tensors
  /// that slot_names() names.
  struct State {
    int64_t step = 0;
    std::array<Tensor, kMaxSlots> slots;
  };
  struct Entry {
    Tensor param;
    State state;
    Tensor contiguous_param{}, grad{};  ///< while a step runs: what the kernel works on
  };
  using Group = std::vector<Entry>;
  using Options = std::vector<std::pair<std::string, Tensor>>;

  Optimizer(const char* name, std::vector<const char*> slot_names)
      : name_(name), slot_names_(std::move(slot_names)) {}

  void add_group(const Parameters& params);
  virtual Options group_options(size_t group) const = 0;
  /// Checks the options of all groups, and then takes them over if `commit`.
  virtual void set_group_options(const std::vector<Options>& options, bool commit) = 0;

  /// Makes the entry ready for its kernel: false if it has no gradient.
  bool prepare(Entry& entry) const;
  /// A slot that fits the parameter in shape, dtype and device; zeros at first.
  const ArrayView& slot(Entry& entry, size_t index) const;
  /// After the kernel.
  void finish(Entry& entry) const;

  const char* name_;
  std::vector<const char*> slot_names_;
  std::vector<Group> groups_;

 private:
  struct Loaded;
  Loaded read(const StateDict& state) const;
};

/// An optimizer with options of type O, a struct with FARRO_FIELDS. `check(const O&)` throws
/// ValueError for bad ones.
template <class O>
class OptimizerOf : public Optimizer {
 public:
  /// The options of a group, to be read and, for a learning-rate schedule, changed.
  O& options(size_t group = 0) { return options_.at(group); }
  const O& options(size_t group = 0) const { return options_.at(group); }
  /// ValueError for a tensor that is no leaf or that another group holds, and for bad options.
  void add_param_group(const ParamGroup<O>& group) {
    check(group.options);
    add_group(group.params);
    options_.push_back(group.options);
  }
  void step() override;
  using Optimizer::step;

 protected:
  OptimizerOf(const char* name, std::vector<const char*> slot_names,
              const std::vector<ParamGroup<O>>& groups)
      : Optimizer(name, std::move(slot_names)) {
    if (groups.empty()) fail<ValueError>(name_, "expected parameters, got no group");
    for (const ParamGroup<O>& group : groups) add_param_group(group);
  }
  virtual void update(Entry& entry, const O& options) = 0;

  Options group_options(size_t group) const override;
  void set_group_options(const std::vector<Options>& options, bool commit) override;

 private:
  std::vector<O> options_;
};

}  // namespace farro::optim
