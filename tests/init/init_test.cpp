#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

#include <support/compare.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/warning.hpp>
#include <farro/init/init.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}
double deviation_of(const std::vector<double>& v) {
  double mean = mean_of(v), sum = 0;
  for (double x : v) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(v.size()));
}
double largest(const std::vector<double>& v) {
  double result = 0;
  for (double x : v) result = std::max(result, std::abs(x));
  return result;
}

}  // namespace

TEST_CASE("init: fans count the receptive field", "[M47]") {
  Tensor weight = zeros({6, 4, 3, 5});
  CHECK(init::calculate_fan_in_and_fan_out(weight).in == 60);
  CHECK(init::calculate_fan_in_and_fan_out(weight).out == 90);
  CHECK(init::calculate_fan(weight, "fan_avg") == 75);
  CHECK_THROWS_AS(init::calculate_fan_in_and_fan_out(zeros({3})), ValueError);
  CHECK_THROWS_AS(init::calculate_fan(weight, "fan"), ValueError);
}

TEST_CASE("init: gains", "[M48]") {
  CHECK(init::calculate_gain("conv_transpose2d") == 1);
  CHECK(init::calculate_gain("tanh") == 5.0 / 3);
  CHECK(init::calculate_gain("relu") == std::sqrt(2.0));
  CHECK(init::calculate_gain("leaky_relu") == std::sqrt(2 / 1.0001));
  CHECK(init::calculate_gain("leaky_relu", 1) == 1);
  CHECK(init::calculate_gain("selu") == 0.75);
  CHECK_THROWS_MATCHES(init::calculate_gain("gelu"), ValueError,
                       MessageMatches(ContainsSubstring("leaky_relu")));
}

TEST_CASE("init: schemes have their bounds and deviations", "[M49]") {
  Generator generator(3);
  Tensor w = zeros({200, 300}, {.dtype = kFloat64, .requires_grad = true});
  uint32_t version = w.version();
  double bound = std::sqrt(6.0 / 500);
  init::xavier_uniform_(w, 1, &generator);
  CHECK(w.version() > version);
  CHECK(w.is_leaf());
  CHECK(largest(w.to_vector()) < bound);
  CHECK(largest(w.to_vector()) > 0.999 * bound);
  init::xavier_normal_(w, 2, &generator);
  CHECK(std::abs(deviation_of(w.to_vector()) / (2 * std::sqrt(2.0 / 500)) - 1) < 0.02);
  init::kaiming_uniform_(w, std::sqrt(5.0), "fan_in", "leaky_relu", &generator);
  CHECK(largest(w.to_vector()) <= 1 / std::sqrt(300.0));
  init::kaiming_normal_(w, 0, "fan_out", "relu", &generator);
  CHECK(std::abs(deviation_of(w.to_vector()) / std::sqrt(2.0 / 200) - 1) < 0.02);
  init::uniform_(w, -3, 1, &generator);
  CHECK(std::abs(mean_of(w.to_vector()) + 1) < 0.05);
  init::normal_(w, 5, 0.5, &generator);
  CHECK(std::abs(mean_of(w.to_vector()) - 5) < 0.02);
  init::trunc_normal_(w, 1, 2, 0, 1.5, &generator);
  for (double x : w.to_vector()) REQUIRE((x >= 0 && x <= 1.5));
  init::constant_(w, 4);
  CHECK(w.to_vector() == std::vector<double>(60000, 4));
  CHECK_THROWS_AS(init::uniform_(zeros({2}, {.dtype = kInt64})), TypeError);
}

TEST_CASE("init: identities", "[M49]") {
  Tensor eye = init::eye_(ones({2, 3}));
  CHECK(eye.to_vector() == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK_THROWS_AS(init::eye_(ones({2})), ValueError);
  Tensor dirac = init::dirac_(ones({4, 2, 3}), 2);
  std::vector<double> expected(24);
  for (int i : {1, 10, 13, 22}) expected[static_cast<size_t>(i)] = 1;
  CHECK(dirac.to_vector() == expected);
  CHECK_THROWS_AS(init::dirac_(ones({4, 2, 3}), 3), ValueError);
  CHECK_THROWS_AS(init::dirac_(ones({4, 2})), ValueError);
}

TEST_CASE("init: orthogonal rows or columns, sparse columns", "[M49]") {
  for (auto [rows, columns] : {std::pair{3, 5}, std::pair{5, 3}, std::pair{4, 4}}) {
    Tensor w = init::orthogonal_(zeros({rows, columns}, {.dtype = kFloat64}), 2);
    Tensor product = rows < columns ? w.matmul(w.t()) : w.t().matmul(w);
    int64_t n = std::min(rows, columns);
    CHECK(allclose(product, eye(n, {}, {.dtype = kFloat64}) * 4, {.rtol = 0, .atol = 1e-12}));
  }
  Tensor sparse = init::sparse_(zeros({5, 4}), 0.3);
  std::vector<double> elements = sparse.to_vector();
  for (size_t c = 0; c < 4; ++c) {
    int count = 0;
    for (size_t r = 0; r < 5; ++r) count += elements[r * 4 + c] == 0;
    CHECK(count == 2);
  }
  CHECK_THROWS_AS(init::orthogonal_(zeros({3})), ValueError);
}

TEST_CASE("init: a tensor without elements is left alone, with a warning", "[M49]") {
  int warnings = 0;
  auto previous = set_warning_handler([&](const std::string&) { ++warnings; });
  init::xavier_uniform_(zeros({0, 3}));
  init::kaiming_normal_(zeros({3, 0}));
  init::normal_(zeros({0}));
  set_warning_handler(previous);
  CHECK(warnings == 3);
}

TEST_CASE("init: the same seed gives the same bits on every device", "[M50]") {
  std::vector<Tensor> results;
  for (Device device : devices()) {
    if (!device.is_host()) continue;
    Generator generator(11);
    Tensor w = zeros({40, 30, 3}, {.device = device});
    results.push_back(init::kaiming_uniform_(w, 1, "fan_in", "leaky_relu", &generator).clone());
    results.push_back(init::xavier_normal_(w, 1, &generator).clone());
    results.push_back(init::orthogonal_(w, 1, &generator).clone());
  }
  for (size_t i = 3; i < results.size(); ++i) CHECK(bitwise_equal(results[i], results[i % 3]));
}

}  // namespace farro::test
