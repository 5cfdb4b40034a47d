#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include <cmath>
#include <filesystem>
#include <sstream>

#include <support/devices.hpp>
#include <farro/farro.hpp>
#include <farro/testing/gradcheck.hpp>

using namespace farro;
namespace F = nn::functional;

/// What the documentation shows of Farro, compiled and run.
namespace {

struct Net : nn::Module {
  nn::Ref<nn::Conv2d> conv{{.in_channels = 1, .out_channels = 32, .kernel_size = 3}};
  nn::Ref<nn::Linear> fc{{.in_features = 32 * 13 * 13, .out_features = 10}};
  nn::Parameter scale{ones({1})};
  FARRO_MEMBERS(Net, conv, fc, scale)

  Tensor forward(const Tensor& x) { return fc(F::max_pool2d(relu(conv(x)), 2).flatten(1)) * scale; }
};

/// The first argument is what a module's call gives; the second in braces becomes what forward
/// takes there.
struct Options {
  double scale = 1;
  FARRO_FIELDS(Options, scale)
};
struct Scaled : nn::Module {
  FARRO_MEMBERS(Scaled)
  Tensor forward(const Tensor& x, const Options& options = {}) { return x * options.scale; }
};

const TensorOptions kVariable{.dtype = kFloat64, .requires_grad = true};

struct Gaussian {
  template <class T>
  FARRO_FORMULA T operator()(T x, T mean, T sigma) const {
    T z = (x - mean) / sigma;
    return math::exp(T(-0.5) * z * z);
  }
};

/// Second differences inside, zeros at the border; transposed it is the same stencil, on what lies
/// inside.
template <class In, class Out, class Scalar>
struct Apply {
  In u;
  Out out;
  Scalar factor;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    out(i, j) =
        factor * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - Scalar(4) * u(i, j));
  }
};

template <class Backend>
auto interior(const Tensor& u) {
  return Kokkos::MDRangePolicy<typename Backend::ExecutionSpace, Kokkos::Rank<2>>(
      {1, 1}, {static_cast<int>(u.size(0)) - 1, static_cast<int>(u.size(1)) - 1});
}

struct Stencil : autograd::Function<Stencil> {
  static Tensor forward(autograd::Context& ctx, const Tensor& u, double h) {
    ctx.keep("h", h);
    return run(u, h);
  }
  static autograd::Grads backward(autograd::Context& ctx, const Tensor& grad) {
    // What the border's outputs got counts for nothing; what flows to the border comes from its
    // neighbours inside.
    Tensor wide = zeros({grad.size(0) + 2, grad.size(1) + 2},
                        {.dtype = grad.dtype(), .device = grad.device()});
    Tensor inside = grad.slice(0, 1, -1).slice(1, 1, -1);
    copy_(wide.slice(0, 2, -2).slice(1, 2, -2), inside);
    return {run(wide, ctx.kept<double>("h")).slice(0, 1, -1).slice(1, 1, -1), {}};
  }
  static Tensor run(const Tensor& u, double h) {
    Tensor out = zeros_like(u);
    dispatch(u, [&]<class Backend, class Scalar>() {
      if constexpr (std::is_floating_point_v<Scalar>) {
        auto from = u.view_as<const Scalar**, Backend>();
        auto to = out.view_as<Scalar**, Backend>();
        Kokkos::parallel_for("stencil", interior<Backend>(u),
                             Apply<decltype(from), decltype(to), Scalar>{
                                 from, to, static_cast<Scalar>(1 / (h * h))});
      }
    });
    return out;
  }
};

}  // namespace

TEST_CASE("api: a training step") {
  manual_seed(1);
  Net net;
  net.to(Device("cpu"), kFloat32);
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  Tensor image = randn({4, 1, 28, 28}, {.device = "cpu"});
  Tensor label = randint(0, 10, {4}, {.device = "cpu"});
  double first = 0, last = 0;
  for (int step = 0; step < 5; ++step) {
    adam.zero_grad();
    Tensor loss = F::cross_entropy(net(image), label);
    loss.backward();
    adam.step();
    (step == 0 ? first : last) = loss.item();
  }
  CHECK(last < first);
}

TEST_CASE("api: options in braces, by name and by position") {
  CHECK(nn::Linear({784, 10}).options.out_features == 10);
  CHECK(nn::Linear({.in_features = 784, .out_features = 10}).options.in_features == 784);
  CHECK(nn::Conv2d({1, 2, {3, 5}}).weight.sizes() == Dims{2, 1, 3, 5});
  CHECK(nn::MaxPool2d({.kernel_size = 3, .stride = 2})(ones({1, 7, 7})).sizes() == Dims{1, 3, 3});
  Scaled scaled;
  CHECK(scaled(ones({1}), {.scale = 3}).item() == 3);
  nn::Ref<Scaled> ref{Scaled()};
  CHECK(ref(ones({1}), {.scale = 4}).item() == 4);
  CHECK(ref(ones({1})).item() == 1);
}

TEST_CASE("api: tensors") {
  Tensor a = randn({2, 3}, {.dtype = kFloat64, .device = "cpu", .requires_grad = true});
  Tensor b = a.slice(1, 0, 2).transpose(0, 1) + 1;
  CHECK(b.sizes() == Dims{2, 2});
  b.sum().backward();
  CHECK(a.grad().to_vector() == std::vector<double>{1, 1, 0, 1, 1, 0});
  CHECK_FALSE(b.grad_fn()->name().empty());
  CHECK_FALSE(b.is_leaf());
}

TEST_CASE("api: hooks") {
  Net net;
  int calls = 0;
  auto handle =
      net.conv->register_forward_hook([&](nn::Module& m, const nn::Args& in, const Tensor& out) {
        calls += m.class_name() == "Conv2d" && in.size() == 1 && out.defined();
      });
  net.register_full_backward_pre_hook(
      [&](nn::Module&, const nn::Grads& grad_output) { calls += grad_output.size() == 1; });
  net.register_full_backward_hook(
      [&](nn::Module&, const nn::Grads& grad_input, const nn::Grads&) -> nn::Grads {
        ++calls;
        return {grad_input[0] * 2};
      });
  auto f = [&](nn::Module&, const nn::Args&, const nn::Kwargs&) { ++calls; };
  net.conv->register_forward_pre_hook(f, {.prepend = true, .with_kwargs = true});
  ScopedHandle global = hooks::register_global_forward_hook([&] { ++calls; });
  Tensor x = randn({1, 1, 28, 28}, {.requires_grad = true});
  x.register_hook([](const Tensor& g) { return g * 2; });
  net(x).sum().backward();
  CHECK(calls == 4 + 3);  // net, conv and fc are seen by the global one
  handle.remove();
  handle.remove();
}

TEST_CASE("api: state") {
  Net net;
  nn::StateDict state = net.state_dict();
  std::string path = std::string(FARRO_TEST_OUTPUT_DIR) + "/api_net.safetensors";
  io::save_safetensors(state, path);
  nn::LoadResult result = net.load_state_dict(io::load(path), {.strict = false});
  CHECK(result.missing_keys.empty());
  std::filesystem::remove(path);
  CHECK(net.get_parameter("conv.weight").is_same(net.conv->weight));
  net.set_attr("conv",
               nn::Ref<nn::Conv2d>{{.in_channels = 1, .out_channels = 32, .kernel_size = 5}});
  CHECK(net.conv->weight.size(-1) == 5);
  auto copy = nn::clone(net);
  Net original;
  std::ostringstream out;
  out << *copy << nn::summary(original, {randn({1, 1, 28, 28})});
  CHECK(out.str().find("(conv): Conv2d(1, 32, kernel_size=(5, 5), stride=(1, 1))") !=
        std::string::npos);
}

TEST_CASE("api: modes and derivatives") {
  Net net;
  Tensor x = randn({1, 1, 28, 28});
  {
    NoGrad guard;
    CHECK_FALSE(net(x).requires_grad());
    EnableGrad on;
    CHECK(net(x).requires_grad());
  }
  auto grads = grad({net(x).sum()}, net.parameters(), {.create_graph = true, .allow_unused = true});
  CHECK(grads.size() == net.parameters().size());
  CHECK(grads[0].requires_grad());
}

TEST_CASE("api: scopes, derivatives and checkpoints") {
  Tensor x = randn({4}, {.dtype = kFloat64, .requires_grad = true}),
         v = ones({4}, {.dtype = kFloat64});
  auto f = [](const Tensor& t) { return (t * t * t).sum(); };
  auto [y, dy] = jvp(f, {x}, {v});
  Tensor h = hessian(f, x);
  CHECK(h.sizes() == Dims{4, 4});
  CHECK(std::abs(dy.item() - (x * x).sum().item() * 3) < 1e-12);
  Tensor z = checkpoint([](const Tensor& t) { return exp(t) * t; }, x);
  z.sum().backward();
  CHECK(x.grad().defined());
  InferenceMode fast;
  AnomalyMode watch;
  SavedTensors pack([](const Tensor& t) { return t; }, [](const Tensor& t) { return t; });
  CHECK_FALSE((x * x).requires_grad());
}

TEST_CASE("api: a formula of one's own", "[A23]") {
  Tensor x = randn({5}, kVariable), mean = zeros({}, kVariable), sigma = ones({1}, kVariable);
  Tensor p = map(Gaussian{}, x, mean, sigma);
  Tensor q = map([](auto a, auto b) { return a * math::tanh(b); }, x, sigma);
  (p * q).sum().backward();
  CHECK(sigma.grad().sizes() == Dims{1});
  REQUIRE_THAT([](const auto& in) { return map(Gaussian{}, in[0], in[1], in[2]); },
               farro::testing::PassesGradcheck({x, mean, sigma}));
}

TEST_CASE("api: a kernel of one's own, and that its adjoint is right", "[A22]") {
  for (Device device : test::host_devices()) {
    Tensor u = randn({5, 6}, {.dtype = kFloat64, .device = device, .requires_grad = true});
    REQUIRE_THAT([](const auto& in) { return Stencil::apply(in[0], 0.1); },
                 farro::testing::PassesGradcheck({u}));
  }
}
