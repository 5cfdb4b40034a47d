#include <farro/hooks/bracket.hpp>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/node.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/record.hpp>

namespace farro::hooks {
namespace {

/// Shape, dtype and device of a bracketed tensor.
struct Kind {
  Dims sizes;
  DType dtype;
  Device device;
  explicit Kind(const Tensor& t) : sizes(t.sizes()), dtype(t.dtype()), device(t.device()) {}
  bool fits(const Tensor& t) const {
    return t.sizes() == sizes && t.dtype() == dtype && t.device() == device;
  }
  Tensor zeros() const { return farro::zeros(sizes, {.dtype = dtype, .device = device}); }
};

/// Where a bracket's tensors stand in the values around it: a layout has the structure of the
/// value, with the number of the tensor in place of a tensor, and null for anything else.
Value layout_of(const Value& value, std::vector<Tensor>& tensors) {
  if (const Tensor* tensor = value.get_if<Tensor>()) {
    tensors.push_back(*tensor);
    return tensors.size() - 1;
  }
  if (const List* list = value.get_if<List>()) {
    List layout;
    for (const Value& entry : *list) layout.push_back(layout_of(entry, tensors));
    return Value(std::move(layout));
  }
  if (const Map* map = value.get_if<Map>()) {
    Map layout;
    for (const auto& [name, entry] : *map) layout.emplace_back(name, layout_of(entry, tensors));
    return Value(std::move(layout));
  }
  return {};
}

/// The layout with tensors in the place of their numbers.
Value pack(const Value& layout, const autograd::Grads& grads) {
  if (const int64_t* number = layout.get_if<int64_t>()) return grads[static_cast<size_t>(*number)];
  if (const List* list = layout.get_if<List>()) {
    List packed;
    for (const Value& entry : *list) packed.push_back(pack(entry, grads));
    return Value(std::move(packed));
  }
  if (const Map* map = layout.get_if<Map>()) {
    Map packed;
    for (const auto& [name, entry] : *map) packed.emplace_back(name, pack(entry, grads));
    return Value(std::move(packed));
  }
  return {};
}

class Unpacker {
 public:
  Unpacker(const std::string& module, const char* hook, const std::vector<Kind>& kinds,
           autograd::Grads& grads)
      : module_(module), hook_(hook), kinds_(kinds), grads_(grads) {}

  void list(const List& layout, const List& given) {
    if (given.size() != layout.size()) {
      fail<GradError>(module_,
                      "a {} returned an invalid number of gradients, got {}, but expected {}",
                      hook_, given.size(), layout.size());
    }
    for (size_t i = 0; i < layout.size(); ++i) entry(layout[i], given[i]);
  }

 private:
  void entry(const Value& layout, const Value& given) {
    if (const int64_t* number = layout.get_if<int64_t>()) {
      tensor(static_cast<size_t>(*number), given);
    } else if (layout.is_list()) {
      if (!given.is_list()) wrong("a list", given);
      list(layout.list(), given.list());
    } else if (layout.is_map()) {
      if (!given.is_map()) wrong("a map", given);
      for (const auto& [name, value] : layout.map()) {
        const Value* found = given.map().find(name);
        if (!found) wrong("a map with the names of the output", given);
        entry(value, *found);
      }
    }
  }
  void tensor(size_t number, const Value& given) {
    if (!given.is_tensor() && !given.is_null()) wrong("a tensor or null", given);
    const Kind& kind = kinds_[number];
    if (given.is_tensor() && !kind.fits(given.tensor())) {
      fail<GradError>(module_,
                      "expected a {} to return a gradient of shape {}, {} on {}, got {}, {} on {}",
                      hook_, to_string(kind.sizes), name_of(kind.dtype), kind.device.str(),
                      to_string(given->sizes()), name_of(given->dtype()), given->device().str());
    }
    grads_[number] = given.tensor();
  }
  [[noreturn]] void wrong(const char* wanted, const Value& given) {
    fail<GradError>(module_, "expected a {} to return {} where the module has one, got {}", hook_,
                    wanted, given.str());
  }

  const std::string& module_;
  const char* hook_;
  const std::vector<Kind>& kinds_;
  autograd::Grads& grads_;
};

bool holds_gradient(const Value& value) {
  bool found = false;
  Value copy = value;
  for_each_tensor(copy, [&](Tensor&) { found = true; });
  return found;
}

}  // namespace

/// What both nodes share. Owns no module: where that is gone, gradients pass unseen.
class BracketState {
 public:
  BracketState(const HookedModule& module, std::vector<BackwardPreHook> pre_hooks,
               std::vector<BackwardHook> hooks)
      : alive_(module.alive),
        name_(module.name),
        pre_hooks_(std::move(pre_hooks)),
        hooks_(std::move(hooks)) {}

  const char* kind() const {
    return hooks_.empty() ? "full backward pre-hook" : "full backward hook";
  }
  const std::string& name() const { return name_; }

  /// Notes where the inputs stand and returns the tensors among them. A slot for each argument;
  /// nested ones have none.
  std::vector<Tensor> note_inputs(const Args& args) {
    std::vector<Tensor> tensors;
    for (const Value& value : args) {
      input_layout_.push_back(value.is_tensor() ? layout_of(value, tensors) : Value());
    }
    for (const Tensor& t : tensors) input_kinds_.emplace_back(t);
    return tensors;
  }
  void bracket_inputs() { inputs_bracketed_ = true; }
  std::vector<Tensor> note_outputs(const Value& output) {
    std::vector<Tensor> tensors;
    output_layout_ =
        output.is_list() ? layout_of(output, tensors).list() : List{layout_of(output, tensors)};
    for (const Tensor& t : tensors) output_kinds_.emplace_back(t);
    return tensors;
  }

  /// The outer node's turn.
  void at_outputs(const std::shared_ptr<BracketState>& self, autograd::Grads& grads) {
    if (!*alive_) return;
    for (const BackwardPreHook& hook : pre_hooks_) {
      if (auto result = hook(**alive_, packed_outputs(grads))) {
        unpacker("full backward pre-hook", output_kinds_, grads)
            .list(output_layout_, as_list(*result));
      }
    }
    if (hooks_.empty()) return;
    if (inputs_bracketed_) {
      // The inner node need not lie on the way of this backward: nothing may be kept then.
      autograd::after_backward([weak = std::weak_ptr(self)] {
        if (auto state = weak.lock()) state->grad_outputs_.reset();
      });
      grad_outputs_ = packed_outputs(grads);
      return;
    }
    const Grads none(input_layout_.size());
    const Grads outputs = packed_outputs(grads);
    for (const BackwardHook& hook : hooks_) {
      auto result = hook(**alive_, none, outputs);
      if (result && holds_gradient(*result)) {
        fail<GradError>(name_,
                        "a full backward hook returned a gradient, but no input requires grad");
      }
    }
  }

  /// The inner node's turn.
  void at_inputs(autograd::Grads& grads) {
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = input_kinds_[i].zeros();
    }
    // Gradients may come here without passing the outputs, e.g. in a second derivative.
    std::optional<Grads> outputs = std::exchange(grad_outputs_, {});
    if (!outputs || !*alive_) return;
    for (const BackwardHook& hook : hooks_) {
      if (auto result = hook(**alive_, pack(Value(input_layout_), grads).list(), *outputs)) {
        unpacker("full backward hook", input_kinds_, grads).list(input_layout_, as_list(*result));
      }
    }
  }

 private:
  static List as_list(const Value& value) { return value.is_list() ? value.list() : List{value}; }
  Grads packed_outputs(const autograd::Grads& grads) const {
    return pack(Value(output_layout_), grads).list();
  }
  Unpacker unpacker(const char* hook, const std::vector<Kind>& kinds,
                    autograd::Grads& grads) const {
    return {name_, hook, kinds, grads};
  }

  std::shared_ptr<Module*> alive_;
  std::string name_;
  std::vector<BackwardPreHook> pre_hooks_;
  std::vector<BackwardHook> hooks_;
  bool inputs_bracketed_ = false;
  List input_layout_;
  List output_layout_;
  std::vector<Kind> input_kinds_;
  std::vector<Kind> output_kinds_;
  std::optional<Grads> grad_outputs_;  // from the outer node's turn to the inner one's
};

namespace {

class BracketNode final : public autograd::Node {
 public:
  enum class Side { Input, Output };
  BracketNode(uint32_t outputs, Side side, std::shared_ptr<BracketState> state)
      : Node(outputs), side_(side), state_(std::move(state)) {}
  std::string name() const override {
    return side_ == Side::Input ? "ModuleInputBackward" : "ModuleOutputBackward";
  }
  void apply(autograd::Grads& grad_outputs, autograd::Grads& grad_inputs) override {
    grad_inputs = may_take_gradients() ? std::move(grad_outputs) : grad_outputs;
    if (side_ == Side::Input) {
      state_->at_inputs(grad_inputs);
    } else {
      state_->at_outputs(state_, grad_inputs);
    }
  }

 private:
  Side side_;
  std::shared_ptr<BracketState> state_;
};

bool any_requires_grad(const std::vector<Tensor>& tensors) {
  if (!grad_mode_enabled()) return false;
  for (const Tensor& t : tensors) {
    if (t.requires_grad()) return true;
  }
  return false;
}

/// The tensors behind an identity node; those that don't require grad stay as they are.
std::vector<Tensor> pass_through(BracketNode::Side side, const std::shared_ptr<BracketState>& state,
                                 const std::vector<Tensor>& tensors) {
  IntrusivePtr<autograd::Node> node(
      new BracketNode(static_cast<uint32_t>(tensors.size()), side, state));
  for (const Tensor& t : tensors)
    node->add_edge(t.requires_grad() ? autograd::gradient_edge(t) : autograd::Edge());
  node->number();
  std::vector<Tensor> passed = tensors;
  for (size_t i = 0; i < passed.size(); ++i) {
    if (!tensors[i].requires_grad()) continue;
    passed[i] = alias(tensors[i], tensors[i].sizes(), tensors[i].strides(), tensors[i].data_ptr());
    TensorImpl& impl = *passed[i].impl();
    impl.grad_fn = node;
    impl.output_nr = static_cast<uint32_t>(i);
    impl.make_meta().no_inplace = fmt::format(
        "{} {} of {}, which has a {},", side == BracketNode::Side::Input ? "an input" : "an output",
        to_string(tensors[i].sizes()), state->name(), state->kind());
  }
  return passed;
}

}  // namespace

Bracket::Bracket(const HookedModule& module) {
  std::vector<BackwardPreHook> pre_hooks = global_hooks().full_backward_pre.snapshot();
  std::vector<BackwardHook> hooks = global_hooks().full_backward.snapshot();
  if (module.own) {
    for (auto& hook : module.own->full_backward_pre.snapshot())
      pre_hooks.push_back(std::move(hook));
    for (auto& hook : module.own->full_backward.snapshot()) hooks.push_back(std::move(hook));
  }
  if (pre_hooks.empty() && hooks.empty()) return;
  state_ = std::make_shared<BracketState>(module, std::move(pre_hooks), std::move(hooks));
}

void Bracket::enter(Args& args) {
  std::vector<Tensor> tensors = state_->note_inputs(args);
  if (!any_requires_grad(tensors)) return;
  state_->bracket_inputs();
  tensors = pass_through(BracketNode::Side::Input, state_, tensors);
  size_t i = 0;
  for (Value& value : args) {
    if (value.is_tensor()) value = tensors[i++];
  }
}

void Bracket::leave(Value& output) {
  std::vector<Tensor> tensors = state_->note_outputs(output);
  if (!any_requires_grad(tensors)) return;
  tensors = pass_through(BracketNode::Side::Output, state_, tensors);
  size_t i = 0;
  for_each_tensor(output, [&](Tensor& tensor) { tensor = tensors[i++]; });
}

}  // namespace farro::hooks
