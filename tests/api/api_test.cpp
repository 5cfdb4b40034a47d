#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <sstream>

#include <farro/farro.hpp>

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

/// The first argument is what a module's call gives; the second in braces becomes what forward takes there.
struct Options {
  double scale = 1;
  FARRO_FIELDS(Options, scale)
};
struct Scaled : nn::Module {
  FARRO_MEMBERS(Scaled)
  Tensor forward(const Tensor& x, const Options& options = {}) { return x * options.scale; }
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
  auto handle = net.conv->register_forward_hook(
      [&](nn::Module& m, const nn::Args& in, const Tensor& out) { calls += m.class_name() == "Conv2d" && in.size() == 1 && out.defined(); });
  net.register_full_backward_pre_hook([&](nn::Module&, const nn::Grads& grad_output) { calls += grad_output.size() == 1; });
  net.register_full_backward_hook([&](nn::Module&, const nn::Grads& grad_input, const nn::Grads&) -> nn::Grads {
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
  net.set_attr("conv", nn::Ref<nn::Conv2d>{{.in_channels = 1, .out_channels = 32, .kernel_size = 5}});
  CHECK(net.conv->weight.size(-1) == 5);
  auto copy = nn::clone(net);
  Net original;
  std::ostringstream out;
  out << *copy << nn::summary(original, {randn({1, 1, 28, 28})});
  CHECK(out.str().find("(conv): Conv2d(1, 32, kernel_size=(5, 5), stride=(1, 1))") != std::string::npos);
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
