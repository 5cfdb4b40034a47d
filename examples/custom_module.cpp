/// Modules of one's own: a layer with options, a parameter, a buffer and named arguments; its lazy
/// form; a network of them, trained, printed, summed up, drawn, saved and cloned.

#include <fstream>
#include <iostream>
#include <farro/farro.hpp>

using namespace farro;

struct CallOptions {
  double sharpness = 1;
  bool record = false;  ///< keeps the responses in the buffer
  FARRO_FIELDS(CallOptions, sharpness, record)
};

/// exp(-sharpness · (x - centre)² / width²) for each of its centres: x is (batch, features), so is
/// the result in each of `units` parts.
struct Bumps : nn::Module {
  struct Options {
    int64_t features;
    int64_t units = 8;
    double range = 3;  ///< centres start evenly spread over ± range
    FARRO_FIELDS(Options, features, units, range)
  };
  Options options;
  nn::Parameter centre, width;
  nn::Buffer response{zeros({1}), false};
  FARRO_MEMBERS(Bumps, centre, width, response)

  explicit Bumps(const Options& options) : options(options) {
    if (options.units < 1)
      fail<ValueError>("Bumps", "expected units of at least 1, got {}", options.units);
    centre = nn::Parameter(empty({options.units, options.features}));
    width = nn::Parameter(empty({options.units, options.features}));
    reset_parameters();
  }
  void reset_parameters() {
    if (options.features == 0) return;
    NoGrad guard;
    Tensor spread = linspace(-options.range, options.range, options.units).unsqueeze(1);
    centre.copy_(spread.expand({options.units, options.features}));
    init::constant_(width, 2 * options.range / static_cast<double>(options.units));
  }
  Tensor forward(const Tensor& x, const CallOptions& call = {}) {
    Tensor distance = (x.unsqueeze(1) - centre) / width;
    Tensor y = exp(-call.sharpness * distance * distance).flatten(1);
    if (call.record) response = y.detach().mean({0});
    return y;
  }
  std::string extra_repr() const override {
    return fmt::format("features={}, units={}", options.features, options.units);
  }
};

/// The same, with as many features as its first input has.
struct LazyBumps : nn::LazyModule<LazyBumps, Bumps> {
  FARRO_DERIVED_MEMBERS(LazyBumps, Bumps)
  explicit LazyBumps(int64_t units) : LazyModule(Options{.features = 0, .units = units}) {
    centre = nn::UninitializedParameter();
    width = nn::UninitializedParameter();
  }
  void initialize_parameters(const nn::Args& inputs) {
    options.features = inputs.tensor(0).size(-1);
    centre.materialize({options.units, options.features});
    width.materialize({options.units, options.features});
  }
  void sizes_from_parameters() { options.features = centre.size(1); }
};

struct Curve : nn::Module {
  nn::Ref<LazyBumps> bumps{nn::make<LazyBumps>(16)};
  nn::Ref<nn::Linear> mix{{.in_features = 16, .out_features = 1}};
  FARRO_MEMBERS(Curve, bumps, mix)
  Tensor forward(const Tensor& x, const CallOptions& call = {}) { return mix(bumps(x, call)); }
};

double fit(Curve& net, const Tensor& x, const Tensor& y, int steps) {
  optim::Adam adam(net.parameters(), {.lr = 2e-2});
  double last = 0;
  for (int step = 0; step < steps; ++step) {
    adam.zero_grad();
    Tensor loss = nn::functional::mse_loss(net(x), y);
    loss.backward();
    adam.step();
    last = loss.item();
  }
  return last;
}

int main(int argc, char** argv) {
  Runtime runtime(argc, argv);
  manual_seed(1);
  Curve net;
  std::cout << "before the first call:\n" << net << "\n\n";

  Tensor x = linspace(-3, 3, 128).unsqueeze(1), y = sin(2 * x) * x;
  nn::utils::weight_norm(*net.mix);
  net(x);
  std::cout << "and after:\n" << nn::summary(net, {x}) << "\n\n";
  std::cout << "loss after 500 steps: " << fit(net, x, y, 500) << '\n';
  nn::utils::remove_weight_norm(*net.mix);

  // Named arguments reach hooks by name.
  {
    ScopedHandle hook = net.bumps->register_forward_pre_hook(
        [](nn::Module&, const nn::Args&, const nn::Kwargs& named) {
          std::cout << "sharpness " << named.at("sharpness").number() << '\n';
        },
        {.with_kwargs = true});
    net(x, {.sharpness = 2, .record = true});
  }
  std::cout << "strongest response: " << net.bumps->response.max().item() << '\n';

  // State, by name; a lazy layer takes its sizes from it.
  Curve other;
  other.load_state_dict(net.state_dict());
  nn::Ref<Curve> copy = nn::clone(other);
  std::cout << "largest difference of the copy: " << (copy(x) - net.forward(x)).abs().max().item()
            << '\n';
  if (argc > 1) std::ofstream(argv[1]) << nn::to_svg(net, {x});
}
