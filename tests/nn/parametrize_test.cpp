#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nn/events.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/nn/layers/conv.hpp>
#include <farro/nn/utils/spectral_norm.hpp>
#include <farro/nn/utils/weight_norm.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Ref;
using Names = std::vector<std::string>;
namespace parametrize = nn::utils::parametrize;
namespace parametrizations = nn::utils::parametrizations;

/// x + its transpose.
struct Symmetric : nn::Module {
  FARRO_MEMBERS(Symmetric)
  Tensor forward(const Tensor& x) { return x + x.t(); }
};
struct Exponential : nn::Module {
  nn::Parameter shift{zeros({1}, {.dtype = kFloat64})};
  FARRO_MEMBERS(Exponential, shift)
  Tensor forward(const Tensor& x) { return exp(x + shift); }
  Tensor right_inverse(const Tensor& value) { return log(value); }
};
struct Flat : nn::Module {
  FARRO_MEMBERS(Flat)
  Tensor forward(const Tensor& x) { return x.flatten(); }
};
struct Wide : nn::Module {
  FARRO_MEMBERS(Wide)
  Tensor forward(const Tensor& x) { return x.to(kFloat32); }
};

/// The layer of the oracle's numbers: weight [[1, 2, 3], [4, -5, 6]], bias [0.5, -0.5].
nn::Linear oracle_layer() {
  nn::Linear layer({.in_features = 3, .out_features = 2, .dtype = kFloat64});
  NoGrad guard;
  layer.weight.copy_(from_values({1, 2, 3, 4, -5, 6}, {2, 3}));
  layer.bias.copy_(from_values({0.5, -0.5}, {2}));
  return layer;
}
Tensor oracle_input() { return from_values({1, -1, 2}, {1, 3}); }
void oracle_backward(const Tensor& y) { (y * from_values({1, 2}, {1, 2})).sum().backward(); }

bool near(const Tensor& actual, const std::vector<double>& expected) {
  return allclose(actual.detach().flatten(), from_values(expected), {.rtol = 1e-11, .atol = 1e-13});
}
Names keys(nn::Module& module) { return module.state_dict().keys(); }

}  // namespace

TEST_CASE("weight_norm: PyTorch's numbers") {
  struct Case {
    std::optional<int64_t> dim;
    Dims g_sizes;
    std::vector<double> y, g_grad, v_grad;
  };
  std::vector<Case> cases{{0,
                           {2, 1},
                           {10.227316672915117, 42.048273238235595},
                           {1.299867367239363, 4.8488257455915145},
                           {0.7187672418410185, -2.3958908061367286, 1.437534483682037,
                            -1.0277360685564152, 0.08221888548451295, 0.7810794121028762}},
                          {1,
                           {1, 3},
                           {10.413172914799203, 39.0700868677626},
                           {2.2283440581246223, 1.0, 4.465250445211504},
                           {0.26401430809757904, -3.4465054765660823, -0.3584216652532253,
                            -0.10560572323983142, -2.5848791074245616, 0.2048123801446996}},
                          {{},
                           {},
                           {12.742644850732887, 39.725833080979484},
                           {4.85850203424952},
                           {0.1910616843451709, -4.085780634458275, 0.3821233686903418,
                            -0.39682042133227924, -0.3821233686903418, 1.5431905274033042}}};
  for (const Case& c : cases) {
    for (bool by_hook : {true, false}) {
      CAPTURE(by_hook, c.dim.value_or(-1));
      nn::Linear layer = oracle_layer();
      Tensor before = layer.weight.detach().clone();
      if (by_hook) {
        nn::utils::weight_norm(layer, {.dim = c.dim});
        CHECK(keys(layer) == Names{"bias", "weight_g", "weight_v"});
      } else {
        parametrizations::weight_norm(layer, {.dim = c.dim});
        CHECK(keys(layer) == Names{"bias", "parametrizations.weight.original0",
                                   "parametrizations.weight.original1"});
      }
      CHECK(allclose(layer.weight.detach(), before));
      std::string prefix = by_hook ? "weight_" : "parametrizations.weight.original";
      Tensor g = layer.get_parameter(prefix + (by_hook ? "g" : "0"));
      Tensor v = layer.get_parameter(prefix + (by_hook ? "v" : "1"));
      CHECK(g.sizes() == c.g_sizes);
      {
        NoGrad guard;
        g.mul_(2);
        v.add_(1);
      }
      Tensor y = layer(oracle_input());
      oracle_backward(y);
      CHECK(near(y, c.y));
      CHECK(near(g.grad(), c.g_grad));
      CHECK(near(v.grad(), c.v_grad));
      if (by_hook) {
        nn::utils::remove_weight_norm(layer);
      } else {
        parametrize::remove_parametrizations(layer, "weight");
      }
      CHECK(keys(layer) == Names{"weight", "bias"});
      CHECK_FALSE(layer.has_call_hooks());
      CHECK(layer.weight.is_leaf());
      CHECK(near(layer(oracle_input()), c.y));
    }
  }
}

TEST_CASE("weight_norm: of convolutions, in clones, twice") {
  nn::Conv2d conv(
      {.in_channels = 2, .out_channels = 3, .kernel_size = 2, .bias = false, .dtype = kFloat64});
  {
    NoGrad guard;
    std::vector<double> values;
    for (int i = 0; i < 24; ++i) values.push_back(i / 10.0 - 1);
    conv.weight.copy_(from_values(values, {3, 2, 2, 2}));
  }
  nn::utils::weight_norm(conv);
  CHECK(conv.get_parameter("weight_g").sizes() == Dims{3, 1, 1, 1});
  CHECK(near(conv.get_parameter("weight_g"),
             {1.9493588689617927, 0.7745966692414833, 2.764054992217051}));
  CHECK_THROWS_MATCHES(nn::utils::weight_norm(conv), ValueError,
                       MessageMatches(ContainsSubstring("computed")));
  CHECK_THROWS_AS(nn::utils::weight_norm(conv, {.name = "none"}), ValueError);
  CHECK_THROWS_AS(nn::utils::weight_norm(conv, {.name = "bias"}), ValueError);

  Ref<nn::Conv2d> copy = nn::clone(conv);
  Tensor x = ones({1, 2, 3, 3}, {.dtype = kFloat64});
  {
    NoGrad guard;
    copy->get_parameter("weight_g").mul_(2);
  }
  CHECK(allclose(copy(x), conv(x) * 2));
  nn::utils::remove_weight_norm(*copy);
  CHECK(copy->weight.defined());
  CHECK_FALSE(copy->has_call_hooks());
  CHECK(conv.has_call_hooks());
  CHECK(keys(conv) == Names{"weight_g", "weight_v"});
  CHECK_THROWS_AS(nn::utils::remove_weight_norm(*copy), ValueError);

  nn::Conv2d other(
      {.in_channels = 2, .out_channels = 3, .kernel_size = 2, .bias = false, .dtype = kFloat64});
  nn::utils::weight_norm(other);
  other.load_state_dict(conv.state_dict());
  CHECK(allclose(other(x), conv(x)));
}

TEST_CASE("weight and spectral norm: handles are taken and given back") {
  nn::Linear::Options options{.in_features = 3, .out_features = 2};
  Ref<nn::Linear> by_hook = nn::utils::weight_norm(Ref<nn::Linear>(options));
  CHECK(by_hook->has_attr("weight_g"));
  CHECK(nn::utils::spectral_norm(Ref<nn::Linear>(options))->has_attr("weight_orig"));
  for (const Ref<nn::Linear>& layer : {parametrizations::weight_norm(Ref<nn::Linear>(options)),
                                       parametrizations::spectral_norm(Ref<nn::Linear>(options))}) {
    CHECK(parametrize::is_parametrized(*layer, "weight"));
  }
}

TEST_CASE("spectral_norm: PyTorch's numbers") {
  nn::Linear layer = oracle_layer();
  Tensor weight = layer.weight;
  nn::utils::spectral_norm(layer, {.n_power_iterations = 2});
  CHECK(keys(layer) == Names{"bias", "weight_orig", "weight_u", "weight_v"});
  CHECK(layer.get_parameter("weight_orig").is_same(weight));
  layer.get_buffer("weight_u").copy_(from_values({0.6, 0.8}));
  layer.get_buffer("weight_v").copy_(from_values({1, 0, 0}));
  Tensor y = layer(oracle_input());
  oracle_backward(y);
  CHECK(near(y, {1.061998798956116, 1.860394955615687}));
  CHECK(near(layer.get_buffer("weight_u"), {0.1918148201164258, 0.9814311360374213}));
  CHECK(near(layer.get_buffer("weight_v"),
             {0.46432616708946106, -0.4877641864377694, 0.7392477994452947}));
  CHECK(near(weight.grad(), {0.05951458525096233, -0.056845074394223385, 0.14060170418205836,
                             -0.045790400930900144, 0.05944910087495714, 0.018796259848282426}));
  layer.eval();
  CHECK(near(layer(oracle_input()), {1.061998798956116, 1.860394955615687}));
  CHECK(near(layer.get_buffer("weight_u"), {0.1918148201164258, 0.9814311360374213}));
  nn::utils::remove_spectral_norm(layer);
  CHECK(keys(layer) == Names{"weight", "bias"});
  CHECK(layer.weight.is_same(weight));
  CHECK_FALSE(layer.has_call_hooks());
  CHECK(near(layer(oracle_input()), {1.061998798956116, 1.860394955615687}));
}

TEST_CASE("spectral_norm: as a parametrization") {
  nn::Linear layer = oracle_layer();
  Tensor weight = layer.weight;
  parametrizations::spectral_norm(layer);
  CHECK(keys(layer) == Names{"bias", "parametrizations.weight.original",
                             "parametrizations.weight.0._u", "parametrizations.weight.0._v"});
  CHECK(layer.get_parameter("parametrizations.weight.original").is_same(weight));
  layer.get_buffer("parametrizations.weight.0._u").copy_(from_values({0.6, 0.8}));
  layer.get_buffer("parametrizations.weight.0._v").copy_(from_values({1, 0, 0}));
  CHECK(near(layer(oracle_input()), {1.0627535030687019, 1.863564712888548}));
  CHECK(near(layer.get_buffer("parametrizations.weight.0._u"),
             {0.24253562503633297, 0.9701425001453319}));
  CHECK(near(layer.get_buffer("parametrizations.weight.0._v"),
             {0.464058426867722, -0.49135598138935266, 0.737033972084029}));
  // Twice forward, then both backward: the vectors that were saved are not changed by the second.
  Tensor one = layer(oracle_input()), two = layer(oracle_input());
  (one.sum() + two.sum()).backward();
  CHECK(weight.grad().defined());

  parametrizations::spectral_norm(layer, {.name = "bias"});
  layer(oracle_input());
  CHECK(near(layer.bias, {std::sqrt(0.5), -std::sqrt(0.5)}));
  CHECK_THROWS_AS(parametrizations::spectral_norm(layer, {.n_power_iterations = 0}), ValueError);
  // The largest singular value is 1, after enough iterations.
  nn::Linear wide({.in_features = 7, .out_features = 4, .dtype = kFloat64});
  parametrizations::spectral_norm(wide, {.n_power_iterations = 200});
  wide(ones({1, 7}, {.dtype = kFloat64}));
  Tensor w = wide.weight.detach(), v = random({7});
  for (int i = 0; i < 500; ++i) {
    v = w.t().mv(w.mv(v));
    v = v / v.norm();
  }
  CHECK(std::abs(w.mv(v).norm().item() - 1) < 1e-9);
}

TEST_CASE("parametrizations: registered, stacked, removed", "[M5][M36]") {
  nn::Linear layer({.in_features = 2, .out_features = 2, .bias = false, .dtype = kFloat64});
  Tensor weight = layer.weight, x = ones({1, 2}, {.dtype = kFloat64});
  Tensor start = weight.detach().clone();
  CHECK_FALSE(parametrize::is_parametrized(layer));
  parametrize::register_parametrization(layer, "weight", Symmetric());
  CHECK(parametrize::is_parametrized(layer));
  CHECK(parametrize::is_parametrized(layer, "weight"));
  CHECK_FALSE(parametrize::is_parametrized(layer, "bias"));
  CHECK(layer.parameters().size() == 1);
  CHECK(layer.parameters()[0].is_same(weight));
  CHECK(allclose(layer.weight.detach(), start + start.t()));
  CHECK(layer.repr() ==
        "Linear(\n"
        "  in_features=2, out_features=2, bias=False\n"
        "  (parametrizations): ModuleDict(\n"
        "    (weight): ParametrizationList(\n"
        "      (0): Symmetric()\n"
        "    )\n"
        "  )\n"
        ")");

  parametrize::register_parametrization(layer, "weight", Exponential());
  CHECK(keys(layer) ==
        Names{"parametrizations.weight.original", "parametrizations.weight.1.shift"});
  Tensor y = layer(x);
  CHECK(allclose(layer.weight.detach(), exp(start + start.t())));
  y.sum().backward();
  CHECK(weight.grad().defined());
  CHECK(layer.get_parameter("parametrizations.weight.1.shift").grad().defined());
  {
    NoGrad guard;
    weight.zero_();
  }
  CHECK(parametrize::parametrized(layer, "weight").detach().to_vector() ==
        std::vector<double>(4, 1));
  CHECK(layer(x).detach().to_vector() == std::vector<double>{2, 2});

  parametrize::remove_parametrizations(layer, "weight");
  CHECK(layer.weight.is_same(weight));
  CHECK(layer.weight.to_vector() == std::vector<double>(4, 1));
  CHECK(layer.repr() == "Linear(in_features=2, out_features=2, bias=False)");
  CHECK_FALSE(layer.has_call_hooks());
  CHECK_THROWS_AS(parametrize::remove_parametrizations(layer, "weight"), ValueError);
  CHECK_THROWS_AS(parametrize::parametrized(layer, "weight"), ValueError);
}

TEST_CASE("parametrizations: a right inverse gives the originals") {
  nn::Linear layer = oracle_layer();
  Tensor weight = layer.weight;
  {
    NoGrad guard;
    weight.copy_(abs(weight));
  }
  Tensor value = weight.detach().clone();
  parametrize::register_parametrization(layer, "weight", Exponential());
  CHECK(layer.get_parameter("parametrizations.weight.original").is_same(weight));
  CHECK(allclose(weight.detach(), log(value)));
  CHECK(allclose(layer.weight.detach(), value));
  parametrize::parametrizations(layer, "weight").assign(value * 2);
  CHECK(allclose(parametrize::parametrized(layer, "weight").detach(), value * 2));
  CHECK_THROWS_AS(
      parametrize::parametrizations(layer, "weight").assign(ones({2}, {.dtype = kFloat64})),
      ValueError);
  parametrize::remove_parametrizations(layer, "weight", false);
  CHECK(allclose(layer.weight.detach(), log(value * 2)));

  parametrizations::weight_norm(layer);
  CHECK_THROWS_AS(parametrize::remove_parametrizations(layer, "weight", false), ValueError);
  CHECK(parametrize::is_parametrized(layer, "weight"));
  parametrize::register_parametrization(layer, "bias", Exponential(), {.unsafe = true});
  parametrize::remove_parametrizations(layer, "weight");
  CHECK(parametrize::is_parametrized(layer));
  CHECK(keys(layer) ==
        Names{"weight", "parametrizations.bias.original", "parametrizations.bias.0.shift"});
}

TEST_CASE("parametrizations: what does not fit is refused, and nothing is changed") {
  nn::Linear layer = oracle_layer();
  CHECK_THROWS_AS(parametrize::register_parametrization(layer, "none", Symmetric()), ValueError);
  CHECK_THROWS_AS(parametrize::register_parametrization(layer, "weight", Flat()), ShapeError);
  CHECK_THROWS_AS(parametrize::register_parametrization(layer, "weight", Wide()), TypeError);
  CHECK_THROWS_AS(parametrize::register_parametrization(layer, "weight", Symmetric()), Error);
  CHECK(keys(layer) == Names{"weight", "bias"});
  CHECK_FALSE(layer.has_call_hooks());
  parametrizations::weight_norm(layer);
  CHECK_THROWS_AS(parametrize::register_parametrization(layer, "weight", Flat()), ShapeError);
  CHECK(parametrize::parametrizations(layer, "weight").size() == 1);
  CHECK_THROWS_AS(nn::utils::weight_norm(layer), ValueError);
}

TEST_CASE("parametrizations: in clones, conversion, states and modes", "[M42][M39]") {
  nn::Linear layer({.in_features = 2, .out_features = 2, .bias = false});
  parametrizations::spectral_norm(layer);
  parametrize::register_parametrization(layer, "weight", Symmetric());
  Tensor x = ones({1, 2});
  layer(x).sum().backward();
  layer.eval();
  Ref<nn::Linear> copy = nn::clone(layer);
  CHECK(bitwise_equal(copy(x), layer(x)));
  Tensor original = copy->get_parameter("parametrizations.weight.original");
  CHECK_FALSE(original.is_same(layer.get_parameter("parametrizations.weight.original")));
  CHECK_FALSE(copy->get_submodule("parametrizations.weight.0").training());
  copy->double_();
  CHECK(copy(x.to(kFloat64)).dtype() == kFloat64);
  CHECK(copy->weight.dtype() == kFloat64);
  parametrize::remove_parametrizations(*copy, "weight");
  CHECK_FALSE(copy->has_call_hooks());
  CHECK(layer.has_call_hooks());

  nn::Linear other({.in_features = 2, .out_features = 2, .bias = false});
  parametrizations::spectral_norm(other);
  parametrize::register_parametrization(other, "weight", Symmetric());
  other.load_state_dict(layer.state_dict());
  other.eval();
  CHECK(bitwise_equal(other(x), layer(x)));
}

}  // namespace farro::test
