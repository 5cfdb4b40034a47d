#include <algorithm>
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include <farro/backends/kernels/random.hpp>

#include <support/array.hpp>

using namespace farro;
using namespace farro::kernels;
using test::Array;
using test::distance;
using test::same_bits;

namespace {

const Device kSerial = Device::of(0);
const Philox kRandom{42, 7};

template <class Fill>
Array filled(const Dims& sizes, DType dtype, Device device, const Fill& fill) {
  Array out(sizes, dtype, device);
  fill(out);
  return out;
}

struct Moments {
  double mean = 0, variance = 0, low = INFINITY, high = -INFINITY;
  explicit Moments(const Array& a) {
    std::vector<double> v = a.values();
    for (double x : v)
      mean += x / static_cast<double>(v.size()), low = std::min(low, x), high = std::max(high, x);
    for (double x : v) variance += (x - mean) * (x - mean) / static_cast<double>(v.size());
  }
};

void check_everywhere(DType dtype, double bound, const auto& fill) {
  for (const Dims& sizes : {Dims{}, Dims{0}, Dims{7}, Dims{4097}, Dims{31, 1000}}) {
    Array serial = filled(sizes, dtype, kSerial, fill);
    INFO(to_string(sizes) << ", " << name_of(dtype));
    CHECK(same_bits(filled(sizes, dtype, Device(), fill), serial));
    Array strided = Array(sizes, dtype, kSerial);
    if (sizes.size() == 2) strided = strided.laid_out({1, 0});
    fill(strided);
    CHECK(same_bits(strided, serial));
    ReferenceKernels scope;
    CHECK(distance(filled(sizes, dtype, kSerial, fill), serial) <= bound);
  }
}

}  // namespace

TEST_CASE("random: a normal number does not depend on how many are drawn", "[A20]") {
  for (DType dtype : {kFloat32, kFloat64}) {
    auto fill = [](const ArrayView& out) { fill_normal(out, kRandom, 0, 1); };
    std::vector<double> many = filled({3000}, dtype, kSerial, fill).values();
    for (int64_t n = 1; n < 200; ++n) {
      std::vector<double> few = filled({n}, dtype, kSerial, fill).values();
      INFO(name_of(dtype) << ", " << n);
      CHECK(std::equal(few.begin(), few.end(), many.begin()));
    }
  }
}

TEST_CASE("random: element i is the same number on every host backend and in every layout",
          "[A20][M50]") {
  auto uniform = [](const ArrayView& out) { fill_uniform(out, kRandom, -2, 3); };
  auto normal = [](const ArrayView& out) { fill_normal(out, kRandom, 1, 2); };
  auto bernoulli = [](const ArrayView& out) { fill_bernoulli(out, kRandom, 0.3); };
  auto integers = [](const ArrayView& out) { fill_integers(out, kRandom, -5, 100); };
  for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
    check_everywhere(dtype, 0, uniform);
    check_everywhere(dtype, dtype == kFloat64 ? 1e-13 : dtype == kFloat32 ? 1e-5 : 0.01, normal);
  }
  for (DType dtype : {kFloat32, kFloat64, kBool, kUInt8}) check_everywhere(dtype, 0, bernoulli);
  for (DType dtype : {kInt64, kInt32, kInt8, kFloat32}) check_everywhere(dtype, 0, integers);
}

TEST_CASE("random: moments and ranges") {
  const Dims many{1 << 18};
  for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
    Moments uniform(
        filled(many, dtype, kSerial, [](const ArrayView& o) { fill_uniform(o, kRandom, 0, 1); }));
    CHECK(std::abs(uniform.mean - 0.5) < 0.003);
    CHECK(std::abs(uniform.variance - 1.0 / 12) < 0.001);
    CHECK(uniform.low >= 0);
    CHECK(uniform.high < 1);
    Moments normal(
        filled(many, dtype, kSerial, [](const ArrayView& o) { fill_normal(o, kRandom, 0, 1); }));
    CHECK(std::abs(normal.mean) < 0.01);
    CHECK(std::abs(normal.variance - 1) < 0.01);
    CHECK(normal.high > 4);
  }
  Moments coin(
      filled(many, kBool, kSerial, [](const ArrayView& o) { fill_bernoulli(o, kRandom, 0.3); }));
  CHECK(std::abs(coin.mean - 0.3) < 0.003);
  CHECK(Moments(filled(many, kFloat32, kSerial, [](const ArrayView& o) {
          fill_bernoulli(o, kRandom, 1);
        })).mean == 1);
  CHECK(Moments(filled(many, kFloat32, kSerial, [](const ArrayView& o) {
          fill_bernoulli(o, kRandom, 0);
        })).mean == 0);
  Moments dice(
      filled(many, kInt64, kSerial, [](const ArrayView& o) { fill_integers(o, kRandom, 1, 7); }));
  CHECK(dice.low == 1);
  CHECK(dice.high == 6);
  CHECK(std::abs(dice.mean - 3.5) < 0.02);
}

TEST_CASE("random: operations and seeds give different numbers") {
  auto with = [](Philox p) {
    return filled({8}, kFloat32, kSerial, [p](const ArrayView& o) { fill_uniform(o, p, 0, 1); });
  };
  CHECK_FALSE(same_bits(with({1, 0}), with({1, 1})));
  CHECK_FALSE(same_bits(with({1, 0}), with({2, 0})));
  CHECK(same_bits(with({1, 0}), with({1, 0})));
}

TEST_CASE("random: a permutation holds every number once") {
  for (int64_t n : {0, 1, 2, 5000}) {
    std::vector<int64_t> p(static_cast<size_t>(n));
    fill_permutation(p.data(), n, kRandom);
    if (n == 5000) CHECK_FALSE(std::is_sorted(p.begin(), p.end()));
    std::sort(p.begin(), p.end());
    for (int64_t i = 0; i < n; ++i) CHECK(p[static_cast<size_t>(i)] == i);
  }
}

TEST_CASE("dropout: keeps and scales what the words say, alike on every host backend", "[A20]") {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
    for (double p : {0.0, 0.25, 1.0}) {
      Array x({10001}, dtype, kSerial), y({10001}, dtype, kSerial), z({10001}, dtype, Device());
      for (int64_t i = 0; i < x.view.numel(); ++i) x.set(i, 3);
      dropout(y, x, kRandom, p);
      dropout(z, x, kRandom, p);
      CHECK(same_bits(y, z));
      double kept = 0;
      for (double v : y.values()) {
        kept += v != 0;
        CHECK((v == 0 || v == (p == 0.25 ? 4 : 3)));
      }
      CHECK(std::abs(kept / 10001 - (1 - p)) < 0.02);
      ReferenceKernels scope;
      dropout(z, x, kRandom, p);
      CHECK(same_bits(y, z));
    }
  }
}
