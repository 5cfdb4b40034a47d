#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include <support/array.hpp>
#include <support/devices.hpp>

#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/index.hpp>
#include <farro/backends/kernels/pattern.hpp>

namespace farro::test {
namespace {

constexpr DType kAll[] = {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64,
                          kInt32,   kInt16,   kInt8,     kUInt8,   kBool};

/// 0, 1, 2, … in row-major order; kept small so that every dtype holds them.
Array counting(Dims sizes, DType dtype, Device device, int modulus = 100) {
  Array a(sizes, dtype, device);
  for (int64_t i = 0; i < a.view.numel(); ++i) a.set(i, static_cast<double>(i % modulus));
  return a;
}

Array copied(const ArrayView& from, const Dims& sizes, DType dtype, Device device) {
  Array to(sizes, dtype, device);
  kernels::copy(to, from);
  return to;
}

TEST_CASE("copy: each dtype converts into each other one", "[A19]") {
  for (Device device : test::host_devices()) {
    for (DType from : kAll) {
      Array source = counting({5, 7}, from, device, from == kBool ? 2 : 100);
      for (DType to : kAll) {
        Array target = copied(source, {5, 7}, to, device);
        for (int64_t i = 0; i < 35; ++i)
          REQUIRE(target[i] == (to == kBool ? source[i] != 0 : source[i]));
      }
    }
  }
}

TEST_CASE("copy: floating-point values are truncated to integers, and all but 0 is true") {
  Array source({6}, kFloat64, Device());
  double values[] = {-1.9, -0.5, 0.0, 0.5, 1.9, 300.25};
  for (int i = 0; i < 6; ++i) source.set(i, values[i]);

  CHECK(copied(source, {6}, kInt32, Device()).values() == std::vector<double>{-1, 0, 0, 0, 1, 300});
  CHECK(copied(source, {6}, kBool, Device()).values() == std::vector<double>{1, 1, 0, 1, 1, 1});
}

TEST_CASE("copy: large integers reach floats with one rounding, and int64 exactly") {
  Array source({2}, kInt64, Device());
  source.view.as<int64_t>()[0] = (int64_t{1} << 60) + 1;
  source.view.as<int64_t>()[1] =
      (int64_t{1} << 54) + (int64_t{1} << 30) + 1;  // a double would round to a tie

  Array floats = copied(source, {2}, kFloat32, Device());
  Array same = copied(source, {2}, kInt64, Device());

  CHECK(floats.view.as<float>()[1] ==
        static_cast<float>((int64_t{1} << 54) + (int64_t{1} << 30) + 1));
  CHECK(same.view.as<int64_t>()[0] == (int64_t{1} << 60) + 1);
}

TEST_CASE("copy: NaN and infinities survive every floating-point dtype") {
  Array source({3}, kFloat64, Device());
  source.set(0, NAN);
  source.set(1, INFINITY);
  source.set(2, -INFINITY);
  for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
    Array target = copied(source, {3}, dtype, Device());
    CHECK(std::isnan(target[0]));
    CHECK(target[1] == INFINITY);
    CHECK(target[2] == -INFINITY);
  }
}

TEST_CASE("copy: any layout into any layout, as element by element", "[A19]") {
  Device device = GENERATE(from_range(test::host_devices()));
  DType dtype = GENERATE(kFloat32, kFloat64, kInt8, kBFloat16);
  DType other = GENERATE(kFloat32, kFloat64, kInt8, kBFloat16);
  Array source = counting({6, 37, 41}, dtype, device);
  std::vector<int> orders[] = {{0, 1, 2}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};
  for (const auto& in : orders) {
    Array from = source.laid_out(in);
    for (const auto& out : orders) {
      Array to = Array({6, 37, 41}, other, device).laid_out(out);
      kernels::copy(to, from);
      CHECK(same_bits(to, source));
    }
  }
}

TEST_CASE("copy: steps, negative steps and broadcasting") {
  Array source = counting({4, 6}, kFloat32, Device());

  ArrayView backwards = source.view;
  backwards.data = source.view.as<float>() + 23;
  backwards.strides = {-6, -1};
  ArrayView every_other = source.view;
  every_other.sizes = {4, 3};
  every_other.strides = {6, 2};
  ArrayView row = source.view;
  row.sizes = {1, 6};
  ArrayView column = source.view;
  column.sizes = {4, 1};

  CHECK(copied(backwards, {4, 6}, kFloat32, Device())[0] == 23);
  CHECK(copied(backwards, {4, 6}, kFloat64, Device())[23] == 0);
  CHECK(copied(every_other, {4, 3}, kFloat32, Device()).values() ==
        std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22});
  CHECK(copied(row, {2, 2, 6}, kFloat32, Device())[12 + 7] == 1);
  CHECK(copied(column, {2, 4, 3}, kInt32, Device())[12 + 5] == 6);
}

TEST_CASE("copy: no elements and no dimensions") {
  Array empty({3, 0, 2}, kFloat32, Device());
  Array number({}, kInt64, Device());
  number.set(0, 7);

  kernels::copy(empty, Array({3, 0, 2}, kFloat64, Device()));
  kernels::fill(empty, 1.0);

  CHECK(copied(number, {}, kFloat16, Device())[0] == 7);
  CHECK(copied(number, {2, 2}, kBool, Device()).values() == std::vector<double>(4, 1));
}

TEST_CASE("copy: large arrays give the same bits on Serial, OpenMP and by the plain kernel",
          "[bits][A20]") {
  DType to = GENERATE(kFloat32, kFloat64, kInt16);
  Array a = random_array({300, 501}, kFloat32, test::host_device(), 3, -90, 90).laid_out({1, 0});
  Array b = a.laid_out({1, 0});
  b.view.device = Device();

  Array serial = copied(a, {300, 501}, to, test::host_device());
  Array openmp = copied(b, {300, 501}, to, Device());
  ReferenceKernels plain;
  Array reference = copied(a, {300, 501}, to, test::host_device());

  CHECK(same_bits(serial, openmp));
  CHECK(same_bits(serial, reference));
}

TEST_CASE("fill: every dtype, strided targets, and nothing beyond them") {
  bool plain = GENERATE(false, true);
  std::optional<ReferenceKernels> reference;
  if (plain) reference.emplace();
  for (DType dtype : kAll) {
    Array a({5, 8}, dtype, Device());
    ArrayView column = a.view;
    column.sizes = {5, 2};
    column.strides = {8, 3};
    kernels::fill(column, 1.0);
    double sum = 0;
    for (double v : a.values()) sum += v;
    CHECK(sum == 10);
    kernels::fill(a, int64_t{1});
    CHECK(a.values() == std::vector<double>(40, 1));
    kernels::zero(a);
    CHECK(a.values() == std::vector<double>(40, 0));
  }
}

TEST_CASE("arange and linspace: exact ends, any dtype") {
  Array whole({5}, kInt32, Device()), floats({5}, kFloat64, Device()), one({1}, kFloat64, Device());

  kernels::arange(whole, int64_t{3}, int64_t{-2});
  kernels::linspace(floats, -1, 1);
  kernels::linspace(one, 4, 9);

  CHECK(whole.values() == std::vector<double>{3, 1, -1, -3, -5});
  CHECK(floats.values() == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  CHECK(one[0] == 4);
}

TEST_CASE(
    "take, put, add_at: the plain kernel gives the bits of the host kernel at any number of "
    "threads",
    "[bits][A20]") {
  DType dtype = GENERATE(kFloat32, kFloat64, kBFloat16, kInt64);
  Array x = random_array({3, 11, 40}, dtype, Device(), 5, -9, 9).laid_out({1, 0, 2});
  Array values = random_array({3, 5000, 40}, dtype, Device(), 6, -9, 9);
  Array positions({5000}, kInt64, Device());
  for (int64_t i = 0; i < 5000; ++i)
    positions.set(i, static_cast<double>(Philox{1, 2}(static_cast<uint64_t>(i)).v[0] % 11));
  kernels::Selection selection{1, 1, 1};

  auto run = [&](Device device, bool plain) {
    std::optional<ReferenceKernels> reference;
    if (plain) reference.emplace();
    Array taken({3, 5000, 40}, dtype, device), put = x.laid_out({0, 1, 2}),
                                               added = x.laid_out({2, 1, 0});
    put.view.device = added.view.device = device;
    kernels::take(taken, x, positions, selection);
    kernels::put(put, positions, values, selection);
    kernels::add_at(added, positions, values, 0.5, selection);
    return std::array{taken, put, added};
  };

  auto serial = run(test::host_device(), false), openmp = run(Device(), false),
       plain = run(test::host_device(), true);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(same_bits(serial[i], openmp[i]));
    CHECK(same_bits(serial[i], plain[i]));
  }
  CHECK(serial[0][5] == x[static_cast<int64_t>(positions[0]) * 40 + 5]);
}

}  // namespace
}  // namespace farro::test
