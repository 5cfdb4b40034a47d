#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/compare.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/init/init.hpp>
#include <farro/nn/layers/activation.hpp>
#include <farro/nn/layers/lazy.hpp>
#include <farro/nn/sequential.hpp>
#include <farro/optim/sgd.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Ref;

/// A lazy layer without a plain form; its reset_parameters counts.
struct LazyScale : nn::LazyModule<LazyScale> {
  nn::Parameter scale = nn::UninitializedParameter();
  int resets = 0;
  FARRO_MEMBERS(LazyScale, scale)

  void initialize_parameters(const nn::Args& inputs) {
    scale.materialize({inputs.tensor(0).size(-1)});
  }
  void reset_parameters() {
    ++resets;
    init::constant_(scale, 3);
  }
  Tensor forward(const Tensor& x) { return x * scale; }
};

/// A lazy form of a layer of one's own, with another start.
struct LazyOnes : nn::LazyModule<LazyOnes, nn::Linear> {
  FARRO_DERIVED_MEMBERS(LazyOnes, nn::Linear)
  LazyOnes() : LazyModule(Options{0, 2, false}) { weight = nn::UninitializedParameter(); }
  void initialize_parameters(const nn::Args& inputs) {
    options.in_features = inputs.tensor(0).size(-1);
    weight.materialize({2, options.in_features});
  }
  void reset_parameters() { init::ones_(weight); }
};

struct Holder : nn::Module {
  nn::Parameter weight = nn::UninitializedParameter();
  nn::Buffer seen = nn::UninitializedBuffer();
  nn::Buffer scratch = nn::UninitializedBuffer({.persistent = false});
  FARRO_MEMBERS(Holder, weight, seen, scratch)
};

}  // namespace

TEST_CASE("uninitialized: shape, count and arithmetic are value errors", "[M35]") {
  nn::Parameter p = nn::UninitializedParameter({.dtype = kFloat64});
  CHECK(p.is_uninitialized());
  CHECK_THROWS_MATCHES(p.sizes(), ValueError, MessageMatches(ContainsSubstring("materialize")));
  CHECK_THROWS_AS(p.numel(), ValueError);
  CHECK_THROWS_AS(p.dim(), ValueError);
  CHECK_THROWS_AS(p + 1, ValueError);
  CHECK_THROWS_AS(p * p, ValueError);
  CHECK_THROWS_AS(p.sum(), ValueError);
  CHECK_THROWS_AS(p.item(), ValueError);
  CHECK_THROWS_AS(init::ones_(p), ValueError);
  CHECK(p.dtype() == kFloat64);
  CHECK(p.requires_grad());
  CHECK(p.str() == "<UninitializedParameter>");
  CHECK(nn::UninitializedBuffer().str() == "<UninitializedBuffer>");
  CHECK_THROWS_AS(nn::UninitializedParameter({.dtype = kInt64}), TypeError);
  CHECK(nn::UninitializedBuffer({.dtype = kInt64}).dtype() == kInt64);
}

TEST_CASE("uninitialized: conversion and setting are allowed", "[M35]") {
  nn::Parameter p = nn::UninitializedParameter();
  CHECK(nn::is_uninitialized(p.to(kFloat64)));
  CHECK(p.to(kFloat64).dtype() == kFloat64);
  for (Device device : devices()) CHECK(p.to(device).device() == device);
  p.requires_grad_(false);
  CHECK_FALSE(p.requires_grad());
  CHECK(nn::is_uninitialized(p.detach()));

  Holder holder;
  Tensor weight = holder.weight;
  holder.double_();
  CHECK(holder.weight.is_same(weight));
  CHECK(holder.weight.dtype() == kFloat64);
  CHECK(holder.seen.dtype() == kFloat64);
  CHECK(holder.half().get_parameter("weight").dtype() == kFloat16);
  for (Device device : devices())
    CHECK(holder.to(device).get_parameter("weight").device() == device);
  CHECK(holder.weight.is_uninitialized());
  holder.set_attr("weight", nn::Parameter(ones({2})));
  CHECK(holder.weight.numel() == 2);
}

TEST_CASE("uninitialized: materialize keeps the identity", "[M35]") {
  for (Device device : devices()) {
    nn::Parameter p = nn::UninitializedParameter({.device = device});
    Tensor handle = p;
    p.materialize({2, 3});
    CHECK(handle.sizes() == Dims{2, 3});
    CHECK(handle.is_same(p));
    CHECK(handle.device() == device);
    CHECK(handle.impl()->is_parameter);
    CHECK(handle.requires_grad());
    CHECK_THROWS_AS(p.materialize({2, 3}), ValueError);
    init::ones_(p);
    (p * 2).sum().backward();
    CHECK(handle.grad().to_vector() == std::vector<double>(6, 2));

    nn::Buffer b = nn::UninitializedBuffer();
    b.materialize({4}, device, kFloat64);
    CHECK(b.dtype() == kFloat64);
    CHECK(b.device() == device);
  }
  nn::Parameter p = nn::UninitializedParameter();
  CHECK_THROWS_AS(p.materialize({2}, {}, kInt64), TypeError);
  CHECK_THROWS_AS(p.materialize({-1}), ShapeError);
  CHECK(p.is_uninitialized());
  CHECK_THROWS_AS(nn::materialize(ones({2}), {2}), ValueError);
}

TEST_CASE("buffers: those that are not persistent are converted and iterated, never saved",
          "[M7]") {
  nn::Module module;
  module.register_buffer("kept", ones({2}));
  module.register_buffer("scratch", ones({2}), false);
  CHECK(module.state_dict().keys() == std::vector<std::string>{"kept"});
  CHECK(module.buffers().size() == 2);
  module.double_();
  CHECK(module.get_buffer("scratch").dtype() == kFloat64);
  CHECK_THROWS_AS(module.load_state_dict({{"kept", ones({2})}, {"scratch", ones({2})}}), KeyError);
  module.register_buffer("scratch", zeros({3}));
  CHECK(module.state_dict().keys() == std::vector<std::string>{"kept", "scratch"});
  CHECK(module.get_buffer("scratch").numel() == 3);
  module.register_buffer("kept", zeros({1}), false);
  CHECK(module.state_dict().keys() == std::vector<std::string>{"scratch"});
  module.register_buffer("none", {});
  CHECK(module.buffers().size() == 2);
  // Uninitialized ones as well.
  Holder holder;
  CHECK(holder.state_dict().keys() == std::vector<std::string>{"weight", "seen"});
  CHECK(nn::is_uninitialized(holder.state_dict()["weight"]));
  CHECK(holder.buffers().size() == 2);
}

TEST_CASE("lazy: the first call makes it the plain layer", "[M35][M43]") {
  nn::LazyLinear layer({.out_features = 3});
  CHECK(layer.repr() == "LazyLinear(in_features=0, out_features=3, bias=True)");
  CHECK(layer.has_uninitialized_params());
  CHECK(layer.has_call_hooks());
  CHECK(layer.state_dict().keys() == std::vector<std::string>{"weight", "bias"});
  CHECK_THROWS_AS(layer.forward(ones({2, 5})), ValueError);
  optim::SGD sgd(layer.parameters(), {.lr = 0.1});
  Tensor weight = layer.weight;

  manual_seed(3);
  Tensor y = layer(ones({2, 5}));
  CHECK(y.sizes() == Dims{2, 3});
  CHECK(layer.repr() == "Linear(in_features=5, out_features=3, bias=True)");
  CHECK(layer.class_name() == "Linear");
  CHECK_FALSE(layer.has_call_hooks());
  CHECK(layer.weight.is_same(weight));
  manual_seed(3);
  nn::Linear plain({5, 3});
  CHECK(bitwise_equal(layer.weight.detach(), plain.weight.detach()));
  CHECK(bitwise_equal(layer.bias.detach(), plain.bias.detach()));
  CHECK_THROWS_AS(layer(ones({2, 4})), ShapeError);

  y.sum().backward();
  sgd.step();
  CHECK_FALSE(bitwise_equal(layer.weight.detach(), plain.weight.detach()));
}

TEST_CASE("lazy: convolutions and batch normalisations", "[M35][M43]") {
  nn::LazyConv2d conv({.out_channels = 4, .kernel_size = 3, .groups = 2, .bias = false});
  CHECK(conv.repr() == "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1), groups=2, bias=False)");
  CHECK_THROWS_AS(conv(ones({2, 3})), ShapeError);
  CHECK_THROWS_AS(conv(ones({1, 5, 6, 6})), ValueError);
  CHECK(conv.weight.is_uninitialized());
  CHECK(conv(ones({6, 5, 5})).sizes() == Dims{4, 3, 3});  // without a batch
  CHECK(conv.weight.sizes() == Dims{4, 3, 3, 3});
  CHECK(conv.repr() == "Conv2d(6, 4, kernel_size=(3, 3), stride=(1, 1), groups=2, bias=False)");
  CHECK_THROWS_AS(nn::LazyConv2d({.out_channels = 3, .kernel_size = 3, .groups = 2}), ValueError);
  CHECK(nn::LazyConv1d({.out_channels = 4, .kernel_size = 3})(ones({1, 2, 7})).sizes() ==
        Dims{1, 4, 5});
  CHECK(nn::LazyConv3d({.out_channels = 4, .kernel_size = 1})(ones({1, 2, 2, 2, 2})).size(1) == 4);

  nn::LazyBatchNorm2d norm;
  CHECK_THAT(norm.repr(), ContainsSubstring("LazyBatchNorm2d(0, eps=1e-05"));
  Tensor mean = norm.running_mean;
  CHECK_THROWS_AS(norm(ones({2, 3})), ShapeError);
  norm(ones({2, 3, 2, 2}));
  CHECK_THAT(norm.repr(),
             ContainsSubstring("BatchNorm2d(3, eps=1e-05") && !ContainsSubstring("Lazy"));
  CHECK(norm.num_batches_tracked.item_int() == 1);
  CHECK(norm.running_mean.is_same(mean));
  CHECK(norm.running_mean.numel() == 3);
  CHECK(norm.weight.to_vector() == std::vector<double>(3, 1));
  nn::LazyBatchNorm1d bare({.affine = false, .track_running_stats = false});
  bare(ones({2, 3}));
  CHECK(bare.options.num_features == 3);
  CHECK(bare.state_dict().empty());
  CHECK(nn::LazyBatchNorm3d()(ones({2, 3, 1, 2, 2})).size(1) == 3);
}

TEST_CASE("lazy: a layer of one's own resets its own way, once", "[M35]") {
  LazyScale scale;
  CHECK(scale(ones({2})).to_vector() == std::vector<double>{3, 3});
  scale(ones({2}));
  CHECK(scale.resets == 1);
  CHECK(scale.class_name() == "LazyScale");
  LazyOnes ones_layer;
  CHECK(ones_layer(ones({1, 4})).to_vector() == std::vector<double>{4, 4});
  CHECK(ones_layer.repr() == "Linear(in_features=4, out_features=2, bias=False)");
}

TEST_CASE("lazy: converted and cloned before the first call", "[M35][M42]") {
  nn::LazyLinear layer({.out_features = 2});
  layer.double_();
  Ref<nn::LazyLinear> copy = nn::clone(layer);
  CHECK(layer(ones({1, 3}, {.dtype = kFloat64})).dtype() == kFloat64);
  CHECK(copy->weight.is_uninitialized());
  CHECK(copy->weight.dtype() == kFloat64);
  CHECK(copy->class_name() == "LazyLinear");
  CHECK(copy(ones({1, 4}, {.dtype = kFloat64})).sizes() == Dims{1, 2});
  CHECK_FALSE(copy->has_call_hooks());
  CHECK(layer.weight.size(1) == 3);
  nn::LazyLinear moved = nn::LazyLinear({.out_features = 2});
  CHECK(moved(ones({1, 3})).sizes() == Dims{1, 2});
  CHECK_FALSE(moved.has_call_hooks());
}

TEST_CASE("lazy: in a sequence, on every device", "[M35]") {
  for (Device device : devices()) {
    nn::Sequential net(nn::LazyConv2d({.out_channels = 2, .kernel_size = 3}), nn::LazyBatchNorm2d(),
                       nn::ReLU(), nn::Flatten(), nn::LazyLinear({.out_features = 2}));
    net.to(device);
    Tensor y = net(ones({2, 1, 4, 4}, {.device = device}));
    CHECK(y.sizes() == Dims{2, 2});
    y.sum().backward();
    CHECK(net.get_parameter("4.weight").grad().sizes() == Dims{2, 8});
    for (nn::Module* module : net.modules()) CHECK_FALSE(module->has_call_hooks());
  }
}

TEST_CASE("lazy: a state makes it the plain layer at once", "[M35][M29]") {
  nn::Linear plain({5, 3});
  nn::LazyLinear lazy({.out_features = 3});
  Tensor weight = lazy.weight;
  lazy.load_state_dict(plain.state_dict());
  CHECK(lazy.repr() == "Linear(in_features=5, out_features=3, bias=True)");
  CHECK_FALSE(lazy.has_call_hooks());
  CHECK(lazy.weight.is_same(weight));
  CHECK(bitwise_equal(lazy(ones({1, 5})), plain(ones({1, 5}))));

  nn::Conv2d conv({.in_channels = 4, .out_channels = 2, .kernel_size = 1, .groups = 2});
  nn::LazyConv2d lazy_conv({.out_channels = 2, .kernel_size = 1, .groups = 2});
  lazy_conv.load_state_dict(conv.state_dict());
  CHECK(lazy_conv.repr() == conv.repr());
  nn::BatchNorm2d norm({.num_features = 4});
  nn::LazyBatchNorm2d lazy_norm;
  lazy_norm.load_state_dict(norm.state_dict(), {.assign = true});
  CHECK(lazy_norm.repr() == norm.repr());

  // The other way round it is an error, and changes nothing; lazy to lazy is fine.
  nn::LazyLinear from({.out_features = 3}), to({.out_features = 3});
  CHECK_THROWS_MATCHES(
      plain.load_state_dict(from.state_dict()), ShapeError,
      MessageMatches(ContainsSubstring("weight") && ContainsSubstring("uninitialized")));
  CHECK(plain.weight.size(1) == 5);
  to.load_state_dict(from.state_dict());
  CHECK(to.weight.is_uninitialized());
  CHECK(to(ones({1, 2})).sizes() == Dims{1, 3});
}

TEST_CASE("lazy: a state that is refused leaves it lazy", "[M35][M29]") {
  nn::LazyLinear lazy({.out_features = 3});
  CHECK_THROWS_AS(lazy.load_state_dict({{"weight", ones({3, 5})}}), KeyError);
  CHECK(lazy.weight.is_uninitialized());
  // Also when a hook makes it fail after the tensors were copied.
  RemovableHandle handle = lazy.register_load_state_dict_post_hook(
      [](nn::Module&, nn::LoadResult& result) { result.missing_keys.push_back("more"); });
  CHECK_THROWS_AS(lazy.load_state_dict(nn::Linear({5, 3}).state_dict()), KeyError);
  CHECK(lazy.weight.is_uninitialized());
  CHECK(lazy.class_name() == "LazyLinear");
  handle.remove();
  // What was loaded in part is not reset by the first call.
  lazy.load_state_dict({{"bias", full({3}, 7.0)}}, {.strict = false});
  CHECK(lazy.class_name() == "LazyLinear");
  lazy(ones({1, 2}));
  CHECK(lazy.bias.to_vector() == std::vector<double>(3, 7));
  CHECK(lazy.weight.sizes() == Dims{3, 2});
}

}  // namespace farro::test
