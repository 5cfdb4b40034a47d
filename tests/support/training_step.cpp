#include <support/training_step.hpp>

#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/autograd/graph.hpp>
#include <farro/autograd/multi_grad_hook.hpp>
#include <farro/autograd/saved_tensors.hpp>
#include <farro/backends/random.hpp>
#include <farro/nn/nn.hpp>

namespace farro::test {
namespace {

/// What a custom function's two halves pass.
thread_local Places* custom_places = nullptr;

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x) {
    if (custom_places) custom_places->pass("custom forward");
    ctx.save_for_backward({x});
    return x * x * x;
  }
  static autograd::Grads backward(autograd::Context& ctx, const Tensor& dy) {
    if (custom_places) custom_places->pass("custom backward");
    Tensor x = ctx.saved(0);
    return {dy * 3.0 * x * x};
  }
};

struct Network : nn::Module {
  nn::Ref<nn::Conv2d> conv{{.in_channels = 1, .out_channels = 2, .kernel_size = 3}};
  nn::Ref<nn::GroupNorm> norm{{.num_groups = 1, .num_channels = 2}};
  nn::Ref<nn::Linear> fc1{{.in_features = 18, .out_features = 6}};
  nn::Ref<nn::Linear> fc2{{.in_features = 6, .out_features = 3}};
  FARRO_MEMBERS(Network, conv, norm, fc1, fc2)

  Tensor forward(const Tensor& image) { return fc2(rest(fc1(norm(conv(image)).flatten(1)))); }
  std::function<Tensor(const Tensor&)> rest;
};

}  // namespace

struct TrainingStep::State {
  Places& places;
  bool hooked;
  Network network;
  Tensor image, label;
  std::vector<ScopedHandle> handles;
  std::vector<Tensor> retaining;

  void pass(const char* kind) const {
    if (hooked) places.pass(kind);
  }
  void hook_modules();
  void hook_parameters();
  /// Hooks of a tensor within the graph, and of its node.
  void hook(const Tensor& x);
  Tensor middle(const Tensor& x);
};

void TrainingStep::State::hook_modules() {
  for (nn::Module* module : network.modules()) {
    handles.emplace_back(
        module->register_forward_pre_hook([this] { pass("module forward-pre hook"); }));
    handles.emplace_back(module->register_forward_hook([this] { pass("module forward hook"); }));
    handles.emplace_back(
        module->register_full_backward_pre_hook([this] { pass("module full-backward-pre hook"); }));
    handles.emplace_back(
        module->register_full_backward_hook([this] { pass("module full-backward hook"); }));
  }
}

void TrainingStep::State::hook_parameters() {
  for (const Tensor& p : network.parameters()) {
    handles.emplace_back(p.register_hook([this](const Tensor&) { pass("leaf's tensor hook"); }));
    handles.emplace_back(p.register_post_accumulate_grad_hook(
        [this](const Tensor&) { pass("post-accumulate hook"); }));
  }
  auto list = network.parameters();
  handles.emplace_back(register_multi_grad_hook(
      list, [this](const std::vector<Tensor>&) { pass("multi-grad hook"); }));
  handles.emplace_back(
      register_any_grad_hook(list, [this](const Tensor&) { pass("any-grad hook"); }));
}

void TrainingStep::State::hook(const Tensor& x) {
  x.register_hook([this](const Tensor& g) {
    pass("tensor hook");
    return g * 1.0;
  });
  retaining.push_back(x);
  x.retain_grad();
  x.register_hook([this](const Tensor&) { pass("tensor hook beside a retained gradient"); });
  x.grad_fn()->register_prehook([this](autograd::Grads&) { pass("node pre-hook"); });
  x.grad_fn()->register_hook(
      [this](autograd::Grads&, const autograd::Grads&) { pass("node post-hook"); });
}

Tensor TrainingStep::State::middle(const Tensor& x) {
  Tensor y = relu(x) + 0.1 * x;
  if (hooked) hook(y);
  y = checkpoint(
      [this](const Tensor& a) {
        pass("checkpointed block");
        return tanh(a * a);
      },
      y);
  {
    SavedTensors pack(
        [this](const Tensor& t) {
          pass("pack");
          return t * 1.0;
        },
        [this](const Tensor& t) {
          pass("unpack");
          return t;
        });
    y = exp(y) * y;
    y.mul_(x);
  }
  y = Cube::apply(y);
  if (hooked) hook(y);
  return dropout(y, 0.3);
}

TrainingStep::TrainingStep(Device device, DType dtype, Places& places, Hooks hooks)
    : state_(new State{places, hooks == Hooks::Everywhere, {}, {}, {}, {}, {}}) {
  State& s = *state_;
  manual_seed(3);
  s.network.to(device, dtype);
  uint64_t seed = 1;
  NoGrad guard;
  for (const Tensor& p : s.network.parameters())
    p.copy_(random(p.sizes(), {.dtype = dtype, .device = device}, seed++, -0.5, 0.5));
  s.image = random({2, 1, 5, 5}, {.dtype = dtype, .device = device}, 40);
  s.label = from_values({0, 2}, {.dtype = kInt64, .device = device});
  s.network.rest = [&s](const Tensor& x) { return s.middle(x); };
  if (!s.hooked) return;
  EnableGrad recording;
  s.hook_modules();
  s.hook_parameters();
}

TrainingStep::~TrainingStep() = default;

Tensor TrainingStep::forward_backward(bool penalty) {
  State& s = *state_;
  custom_places = s.hooked ? &s.places : nullptr;
  manual_seed(7);
  Tensor loss = nn::functional::cross_entropy(s.network(s.image), s.label);
  if (penalty) {
    for (const Tensor& g : grad({loss}, parameters(), {.create_graph = true}))
      loss = loss + 0.01 * (g * g).sum();
  }
  loss.backward();
  return loss.detach();
}

std::vector<Tensor> TrainingStep::parameters() const { return state_->network.parameters(); }

void TrainingStep::zero_grad() const {
  state_->network.zero_grad();
  // A retained gradient with a history would keep its tensor alive, and that it.
  for (const Tensor& x : state_->retaining) x.set_grad({});
  state_->retaining.clear();
}

uint64_t TrainingStep::result_of(const Tensor& loss) const {
  std::vector<Tensor> all{loss};
  for (const Tensor& p : parameters()) all.push_back(p.grad());
  return hash_of(all);
}

uint64_t hash_of(const std::vector<Tensor>& tensors) {
  uint64_t result = 0;
  for (const Tensor& t : tensors) result = result * 1099511628211u + (t.defined() ? hash(t) : 1);
  return result;
}

std::string trace_left_behind() {
  if (!grad_mode_enabled()) return "grad mode is off";
  bool at_once = false;
  autograd::after_backward([&] { at_once = true; });
  if (!at_once) return "a backward seems to run";
  Tensor x = leaf({1, 2});
  Tensor y = x * x;
  if (tape_stats(y).saved_tensors != 2) return "saved tensors are packed";
  y.sum().backward();
  if (x.grad().to_vector() != std::vector<double>{2, 4}) return "a wrong gradient";
  return "";
}

}  // namespace farro::test
