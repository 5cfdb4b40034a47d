#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

#include <nn/events.hpp>
#include <nn/scenario_modules.hpp>
#include <farro/nn/utils/capture.hpp>
#include <farro/nn/utils/clip_grad.hpp>
#include <farro/nn/utils/convert_parameters.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Ref;
using Names = std::vector<std::string>;

/// Scales in place what it is given.
struct Twice : nn::Module {
  FARRO_MEMBERS(Twice)
  Tensor forward(const Tensor& x) { return x.mul_(2); }
};

nn::Sequential net_of_three(Device device) {
  return nn::Sequential({{"first", linear_layer(device, 2, 2, {1, 2, 3, 4})},
                         {"act", nn::ReLU()},
                         {"last", linear_layer(device, 2, 1, {1, -1})}});
}

/// Parameters whose gradients are their values.
std::vector<Tensor> with_gradients(Device device) {
  std::vector<Tensor> parameters{leaf(device, {1, 2, 2}, {3}), leaf(device, {3, 4}, {1, 2}),
                                 leaf(device, {9}, {1})};
  for (size_t i = 0; i < 2; ++i) parameters[i].set_grad(parameters[i].detach().clone());
  return parameters;
}

}  // namespace

TEST_CASE("capture: activations and gradients of the submodules that match") {
  for (Device device : devices()) {
    nn::Sequential net = net_of_three(device);
    Tensor x = leaf(device, {1, 1}, {1, 2});
    {
      auto seen = nn::utils::capture(net, "?*st");
      CHECK(seen.names() == Names{"first", "last"});
      CHECK_THROWS_AS(seen.activation("first"), ValueError);
      CHECK_THROWS_AS(seen.activation("act"), KeyError);
      Tensor y = net(x);
      CHECK(seen.activation("first").to_vector() == std::vector<double>{3, 7});
      CHECK_FALSE(seen.activation("first").requires_grad());
      CHECK_FALSE(seen.gradient("first").defined());
      y.sum().backward();
      CHECK(seen.gradient("first").to_vector() == std::vector<double>{1, -1});
      CHECK(seen.gradient("last").to_vector() == std::vector<double>{1});
      net(x * 2);
      CHECK(seen.calls("first").size() == 2);
      CHECK(seen.activation("first").to_vector() == std::vector<double>{6, 14});
      {
        NoGrad guard;
        net(x);
      }
      CHECK(seen.calls("last").size() == 3);
      seen.clear();
      CHECK(seen.calls("last").empty());
      net(x);
      seen.remove();
      net(x);
      CHECK(seen.calls("last").size() == 1);
    }
    for (nn::Module* module : net.modules()) CHECK_FALSE(module->has_call_hooks());
  }
}

TEST_CASE("capture: scopes, moving, backward after the end") {
  Device device;
  nn::Sequential net = net_of_three(device);
  Tensor x = leaf(device, {1, 1}, {1, 2}), y;
  {
    auto outer = nn::utils::capture(net, "*");
    {
      nn::utils::Capture inner = nn::utils::capture(net, "act");
      nn::utils::Capture moved = std::move(inner);
      y = net(x);
      CHECK(moved.calls("act").size() == 1);
    }
    net(x);
    CHECK(outer.calls("act").size() == 2);
  }
  y.sum().backward();
  CHECK(x.grad().defined());
  CHECK_FALSE(net[1]->has_call_hooks());
}

TEST_CASE("capture: several outputs, shared modules, in-place layers") {
  Device device;
  nn::Sequential pair({{"pair", Pair()}});
  Tensor a = leaf(device, {2}, {1}), b = leaf(device, {3}, {1});
  auto seen = nn::utils::capture(pair, "pair");
  nn::Value output = pair.call({a, b});
  output[1].tensor().backward(ones({1}, {.dtype = kFloat64}));
  const nn::utils::CapturedCall& call = seen.calls("pair")[0];
  CHECK(call.outputs[0].item() == 6);
  CHECK(call.outputs[1].item() == 5);
  CHECK_FALSE(call.gradients[0].defined());
  CHECK(call.gradients[1].item() == 1);

  nn::Sequential changed({{"layer", linear_layer(device, 1, 1, {3})}, {"twice", Twice()}});
  auto copied = nn::utils::capture(changed, "layer", {.gradients = false, .copy = true});
  changed(leaf(device, {1}, {1, 1}));
  CHECK(copied.activation("layer").item() == 3);
  CHECK_FALSE(copied.gradient("layer").defined());
}

TEST_CASE("capture: a pattern that matches nothing says what there is") {
  nn::Sequential net = net_of_three(Device());
  CHECK_THROWS_MATCHES(
      nn::utils::capture(net, "conv*"), ValueError,
      MessageMatches(ContainsSubstring("conv*") && ContainsSubstring("first, act, last")));
  CHECK(nn::utils::matches("layers.0.conv", "layers.*.conv"));
  CHECK(nn::utils::matches("layers.0.conv", "*"));
  CHECK(nn::utils::matches("aXbXc", "*X?"));
  CHECK(nn::utils::matches("", "*"));
  CHECK_FALSE(nn::utils::matches("layers.0.conv", "layers.?"));
  CHECK_FALSE(nn::utils::matches("fc", "fc?"));
  CHECK_FALSE(nn::utils::matches("fc1", "fc"));
}

TEST_CASE("clip_grad_norm_: PyTorch's numbers") {
  struct Case {
    double p, norm, first, last;
  };
  double infinity = INFINITY;
  for (Device device : devices()) {
    for (Case c : {Case{2, 5.830951894845301, 0.3429971114614983, 1.3719884458459932},
                   Case{1, 12, 0.16666665277777895, 0.6666666111111158},
                   Case{3, 4.762203155904598, 0.4199735951093623, 1.679894380437449},
                   Case{infinity, 4, 0.49999987500003124, 1.999999500000125}}) {
      std::vector<Tensor> parameters = with_gradients(device);
      Tensor grad = parameters[0].grad();
      Tensor total = nn::utils::clip_grad_norm_(parameters, 2, {.norm_type = c.p});
      CHECK(std::abs(total.item() - c.norm) < 1e-12);
      CHECK(parameters[0].grad().is_same(grad));
      CHECK(std::abs(grad[0].item() - c.first) < 1e-12);
      CHECK(std::abs(parameters[1].grad().to_vector()[1] - c.last) < 1e-12);
      CHECK_FALSE(parameters[2].grad().defined());
    }
    std::vector<Tensor> small = with_gradients(device);
    nn::utils::clip_grad_norm_(small, 100);
    CHECK(bitwise_equal(small[0].grad(), small[0].detach()));
  }
}

TEST_CASE("clip_grad_norm_: bad input, nothing to clip") {
  std::vector<Tensor> parameters = with_gradients(Device());
  CHECK_THROWS_AS(nn::utils::clip_grad_norm_(parameters, -1), ValueError);
  CHECK(nn::utils::clip_grad_norm_({}, 1).item() == 0);
  CHECK(nn::utils::clip_grad_norm_({parameters[2]}, 1).item() == 0);
  parameters[0].grad().fill_(INFINITY);
  CHECK_THROWS_AS(nn::utils::clip_grad_norm_(parameters, 1, {.error_if_nonfinite = true}),
                  ValueError);
  CHECK(parameters[1].grad().to_vector() == std::vector<double>{3, 4});
  CHECK(nn::utils::get_total_norm({full({3}, 2.0), full({1}, 2.0)}).item() == 4);
}

TEST_CASE("clip_grad_value_: moves elements to the bounds") {
  std::vector<Tensor> parameters = with_gradients(Device());
  Tensor grad = parameters[1].grad();
  nn::utils::clip_grad_value_(parameters, 1.5);
  CHECK(parameters[0].grad().to_vector() == std::vector<double>{1, 1.5, 1.5});
  CHECK(grad.to_vector() == std::vector<double>{1.5, 1.5});
  CHECK_THROWS_AS(nn::utils::clip_grad_value_(parameters, -1), ValueError);
}

TEST_CASE("parameters_to_vector and back") {
  for (Device device : devices()) {
    nn::Sequential net = net_of_three(device);
    Tensor vector = nn::utils::parameters_to_vector(net.parameters());
    CHECK(vector.to_vector() == std::vector<double>{1, 2, 3, 4, 1, -1});
    vector.sum().backward();
    CHECK(net.parameters()[0].grad().to_vector() == std::vector<double>(4, 1));
    Tensor weight = net.parameters()[0];
    nn::utils::vector_to_parameters(vector.detach() * 2, net.parameters());
    CHECK(weight.to_vector() == std::vector<double>{2, 4, 6, 8});
    CHECK(weight.is_leaf());
    CHECK_THROWS_AS(nn::utils::vector_to_parameters(ones({5}), net.parameters()), ShapeError);
    CHECK_THROWS_AS(nn::utils::vector_to_parameters(ones({1, 6}), net.parameters()), ShapeError);
    CHECK(weight.to_vector() == std::vector<double>{2, 4, 6, 8});
  }
  CHECK_THROWS_AS(nn::utils::parameters_to_vector({}), ValueError);
}

}  // namespace farro::test
