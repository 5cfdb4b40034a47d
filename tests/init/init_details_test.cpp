#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>

#include <support/compare.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/warning.hpp>
#include <farro/init/init.hpp>
#include <farro/nn/layers/conv.hpp>
#include <farro/nn/layers/linear.hpp>

namespace farro::test {
namespace {

struct Scheme {
  std::string name;
  std::function<void(const Tensor&, Generator*)> fill;
  bool random = true;
};

/// Every scheme, on a tensor of 2 dimensions (3 for dirac_).
const std::vector<Scheme>& schemes() {
  static const std::vector<Scheme> all{
      {"uniform_", [](const Tensor& w, Generator* g) { init::uniform_(w, -1, 1, g); }},
      {"normal_", [](const Tensor& w, Generator* g) { init::normal_(w, 0, 1, g); }},
      {"trunc_normal_",
       [](const Tensor& w, Generator* g) { init::trunc_normal_(w, 0, 1, -2, 2, g); }},
      {"xavier_uniform_", [](const Tensor& w, Generator* g) { init::xavier_uniform_(w, 1, g); }},
      {"xavier_normal_", [](const Tensor& w, Generator* g) { init::xavier_normal_(w, 1, g); }},
      {"kaiming_uniform_",
       [](const Tensor& w, Generator* g) { init::kaiming_uniform_(w, 0, "fan_in", "relu", g); }},
      {"kaiming_normal_",
       [](const Tensor& w, Generator* g) { init::kaiming_normal_(w, 0, "fan_avg", "relu", g); }},
      {"orthogonal_", [](const Tensor& w, Generator* g) { init::orthogonal_(w, 1, g); }},
      {"sparse_", [](const Tensor& w, Generator* g) { init::sparse_(w, 0.5, 0.01, g); }},
      {"constant_", [](const Tensor& w, Generator*) { init::constant_(w, 3); }, false},
      {"ones_", [](const Tensor& w, Generator*) { init::ones_(w); }, false},
      {"zeros_", [](const Tensor& w, Generator*) { init::zeros_(w); }, false},
      {"eye_", [](const Tensor& w, Generator*) { init::eye_(w); }, false},
      {"dirac_", [](const Tensor& w, Generator*) { init::dirac_(w); }, false}};
  return all;
}

Tensor weight_for(const Scheme& scheme, Device device, bool empty = false) {
  Dims sizes = scheme.name == "dirac_" ? Dims{5, 4, 3} : Dims{5, 4};
  if (empty) sizes[1] = 0;
  return full(sizes, 7.0, {.device = device, .requires_grad = true});
}

}  // namespace

TEST_CASE("init: all schemes are unrecorded, raise the version and return the tensor", "[M49]") {
  for (Device device : devices()) {
    for (const Scheme& scheme : schemes()) {
      INFO(scheme.name << " on " << device.str());
      Tensor w = weight_for(scheme, device);
      uint32_t version = w.version();
      scheme.fill(w, nullptr);
      CHECK(w.version() > version);
      CHECK(w.is_leaf());
      CHECK(w.requires_grad());
      for (double x : w.to_vector()) CHECK(x != 7);
    }
  }
  Tensor w = ones({2, 2});
  CHECK(&init::ones_(w) == &w);
  CHECK(&init::orthogonal_(w) == &w);
}

TEST_CASE("init: a generator gives the numbers, and the default one is left alone", "[M49][M50]") {
  for (const Scheme& scheme : schemes()) {
    if (!scheme.random) continue;
    INFO(scheme.name);
    std::vector<Tensor> filled;
    for (uint64_t seed : {5, 5, 6}) {
      Generator generator(seed);
      filled.push_back(weight_for(scheme, Device()));
      scheme.fill(filled.back(), &generator);
    }
    CHECK(bitwise_equal(filled[0].detach(), filled[1].detach()));
    CHECK_FALSE(bitwise_equal(filled[0].detach(), filled[2].detach()));

    manual_seed(9);
    Tensor first = rand({3});
    manual_seed(9);
    Generator generator(1);
    scheme.fill(filled[0], &generator);
    CHECK(bitwise_equal(rand({3}), first));
    manual_seed(9);
    scheme.fill(filled[0], nullptr);
    CHECK_FALSE(bitwise_equal(rand({3}), first));
    manual_seed(9);
    scheme.fill(filled[1], nullptr);
    CHECK(bitwise_equal(filled[0].detach(), filled[1].detach()));
  }
}

TEST_CASE("init: nothing to fill is a warning for all schemes", "[M49]") {
  std::vector<std::string> warnings;
  auto previous = set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  for (const Scheme& scheme : schemes()) scheme.fill(weight_for(scheme, Device(), true), nullptr);
  set_warning_handler(previous);
  REQUIRE(warnings.size() == schemes().size());
  CHECK(warnings[0].find("uniform_") != std::string::npos);
}

TEST_CASE("init: the same bits for every number of threads", "[M50][bits]") {
  // Values that one thread gives; other threads and backends must give the same.
  for (const Scheme& scheme : schemes()) {
    uint64_t expected = 0;
    for (Device device : devices()) {
      if (!device.is_host()) continue;
      Generator generator(17);
      Dims sizes = scheme.name == "dirac_" ? Dims{30, 20, 7} : Dims{130, 70};
      Tensor w = zeros(sizes, {.device = device});
      scheme.fill(w, &generator);
      INFO(scheme.name << " on " << device.str());
      if (expected == 0) expected = hash(w);
      CHECK(hash(w) == expected);
    }
  }
}

TEST_CASE("init: fans of vectors are refused by every scheme that needs them", "[M47]") {
  Tensor v = zeros({3});
  CHECK_THROWS_AS(init::xavier_uniform_(v), ValueError);
  CHECK_THROWS_AS(init::xavier_normal_(v), ValueError);
  CHECK_THROWS_AS(init::kaiming_uniform_(v), ValueError);
  CHECK_THROWS_AS(init::kaiming_normal_(v), ValueError);
  CHECK(v.to_vector() == std::vector<double>(3, 0));
  Tensor conv = zeros({8, 3, 5, 5});
  CHECK(init::calculate_fan(conv, "fan_in") == 75);
  CHECK(init::calculate_fan(conv, "fan_out") == 200);
}

TEST_CASE("init: orthogonal tensors of more dimensions", "[M49]") {
  for (Dims sizes : {Dims{4, 2, 3}, Dims{12, 2, 2, 2}, Dims{1, 5}, Dims{5, 1}}) {
    Tensor w = init::orthogonal_(zeros(sizes, {.dtype = kFloat64})).reshape({sizes[0], -1});
    bool wide = w.size(0) <= w.size(1);
    Tensor product = wide ? w.matmul(w.t()) : w.t().matmul(w);
    CHECK(allclose(product, eye(product.size(0), {}, {.dtype = kFloat64}),
                   {.rtol = 0, .atol = 1e-12}));
  }
}

TEST_CASE("init: dirac_ passes channels on, in groups", "[M49]") {
  for (int64_t groups : {1, 2}) {
    nn::Conv2d conv({.in_channels = 4,
                     .out_channels = 4,
                     .kernel_size = 3,
                     .padding = 1,
                     .groups = groups,
                     .bias = false});
    init::dirac_(conv.weight, groups);
    Tensor x = random({2, 4, 5, 6}, {.dtype = kFloat32});
    CHECK(bitwise_equal(conv(x).detach(), x));
  }
  nn::Conv3d cube(
      {.in_channels = 1, .out_channels = 2, .kernel_size = 3, .padding = 1, .bias = false});
  init::dirac_(cube.weight);
  Tensor x = random({1, 1, 3, 3, 3}, {.dtype = kFloat32}), y = cube(x).detach();
  CHECK(bitwise_equal(y.narrow(1, 0, 1), x));
  CHECK(y.narrow(1, 1, 1).abs().max().item() == 0);
}

TEST_CASE("init: sparse_ zeros ceil(sparsity * rows) in each column", "[M49]") {
  for (auto [rows, sparsity, zeros_wanted] :
       {std::tuple{7, 0.5, 4}, {10, 0.1, 1}, {3, 1.0, 3}, {4, 0.0, 0}}) {
    std::vector<double> elements = init::sparse_(ones({rows, 5}), sparsity).to_vector();
    for (size_t c = 0; c < 5; ++c) {
      int count = 0;
      for (size_t r = 0; r < static_cast<size_t>(rows); ++r) count += elements[r * 5 + c] == 0;
      CHECK(count == zeros_wanted);
    }
  }
  CHECK_THROWS_AS(init::sparse_(ones({2, 2}), 1.5), ValueError);
  CHECK_THROWS_AS(init::sparse_(ones({2, 2, 2}), 0.5), ValueError);
}

TEST_CASE("init: trunc_normal_ has absolute bounds and the distribution between them", "[M49]") {
  Generator generator(4);
  Tensor w = zeros({40000}, {.dtype = kFloat64});
  init::trunc_normal_(w, 5, 2, 4, 8, &generator);
  std::vector<double> v = w.to_vector();
  auto cdf = [](double x) { return 0.5 * std::erfc(-(x - 5) / (2 * std::sqrt(2.0))); };
  for (double at : {4.5, 5.0, 6.0, 7.5}) {
    double below = 0;
    for (double x : v) below += x <= at;
    double expected = (cdf(at) - cdf(4)) / (cdf(8) - cdf(4));
    CHECK(std::abs(below / 40000 - expected) < 0.01);
  }
  CHECK(w.amin().item() >= 4);
  CHECK(w.amax().item() <= 8);
  CHECK_THROWS_AS(init::trunc_normal_(w, 0, 1, 2, 1), ValueError);
  CHECK_THROWS_AS(init::trunc_normal_(w, 0, 0), ValueError);
}

TEST_CASE("init: layers start uniform in ± 1 / √fan_in", "[M49]") {
  manual_seed(2);
  nn::Linear linear({.in_features = 100, .out_features = 300});
  nn::Conv2d conv({.in_channels = 4, .out_channels = 64, .kernel_size = 5});
  for (const Tensor& w : {Tensor(linear.weight), Tensor(linear.bias), Tensor(conv.weight)}) {
    double largest = w.detach().abs().max().item();
    CHECK(largest <= 0.1);
    CHECK(largest > 0.098);
    CHECK(std::abs(w.detach().mean().item()) < 0.01);
  }
  CHECK(conv.bias.detach().abs().max().item() <= 0.1);
}

}  // namespace farro::test
