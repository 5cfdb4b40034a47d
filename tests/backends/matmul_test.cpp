#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <farro/backends/kernels/matmul.hpp>
#include <farro/backends/launch.hpp>

#include <backends/dense.hpp>
#include <support/devices.hpp>

using namespace farro;
using dense::Array;

namespace {

const Device kHost = test::host_device();

double element(const ArrayView& v, const std::vector<int64_t>& at) {
  int64_t offset = 0;
  int shift = static_cast<int>(at.size()) - v.ndim();
  for (int d = 0; d < v.ndim(); ++d) {
    int64_t index = at[static_cast<size_t>(d + shift)];
    bool batch = d < v.ndim() - 2;
    offset += (batch && v.sizes[d] == 1 ? 0 : index) * v.strides[d];
  }
  double result = 0;
  dense::with_type(v.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
      result = static_cast<float>(v.as<T>()[offset]);
    } else {
      result = static_cast<double>(v.as<T>()[offset]);
    }
  });
  return result;
}

/// In double, element by element. `before` is what out held.
std::vector<double> expected_product(const Dims& out, const ArrayView& a, const ArrayView& b,
                                     const kernels::MatmulOptions& options = {},
                                     const std::vector<double>& before = {},
                                     const std::vector<double>& bias = {}) {
  std::vector<double> result;
  int nd = out.size();
  int64_t k = a.sizes[a.ndim() - 1];
  for (int64_t i = 0; i < out.product(); ++i) {
    std::vector<int64_t> at(static_cast<size_t>(nd));
    int64_t rest = i;
    for (int d = nd - 1; d >= 0; --d) at[static_cast<size_t>(d)] = rest % out[d], rest /= out[d];
    auto at_a = at, at_b = at;
    double sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      at_a[static_cast<size_t>(nd - 1)] = p;
      at_b[static_cast<size_t>(nd - 2)] = p;
      sum += element(a, at_a) * element(b, at_b);
    }
    sum *= options.alpha;
    if (options.accumulate) sum += before[static_cast<size_t>(i)];
    if (!bias.empty()) sum += bias[static_cast<size_t>(at.back())];
    result.push_back(sum);
  }
  return result;
}

void check_close(const Array& out, const std::vector<double>& expected, int64_t k) {
  double bound = dense::error_bound(out.view.dtype, k);
  for (int64_t i = 0; i < out.numel(); ++i) {
    double want = expected[static_cast<size_t>(i)];
    if (!(std::abs(out.get(i) - want) <= bound * (1 + std::abs(want)))) {
      CAPTURE(i, out.get(i), want);
      FAIL_CHECK("differs");
      return;
    }
  }
}

/// Runs the host kernels and the plain kernel on both host backends; all must be near `expected`,
/// and the host kernels' bits equal.
void check_everywhere(const Dims& sizes, const ArrayView& a, const ArrayView& b,
                      const kernels::MatmulOptions& options = {}) {
  std::string bits;
  int64_t k = a.sizes[a.ndim() - 1];
  auto expected = expected_product(sizes, a, b, options);
  for (Device device : test::host_devices()) {
    for (bool reference : {false, true}) {
      CAPTURE(device.str(), reference, to_string(sizes), k, name_of(a.dtype));
      Array out(sizes, a.dtype, device);
      if (reference) {
        ReferenceKernels scope;
        kernels::matmul(out.view, a, b, options);
      } else {
        kernels::matmul(out.view, a, b, options);
        if (bits.empty()) bits = out.bytes();
        CHECK(bits == out.bytes());
      }
      check_close(out, expected, k);
    }
  }
}

}  // namespace

TEST_CASE("matmul: all sizes about the borders of tiles and vectors") {
  DType dtype = GENERATE(kFloat32, kFloat64);
  for (int64_t m : {1, 2, 5, 6, 7, 13, 64}) {
    for (int64_t n : {1, 3, 8, 9, 16, 17, 40}) {
      for (int64_t k : {1, 2, 7, 32, 257}) {
        Array a = dense::random_array({m, k}, dtype, kHost, 1),
              b = dense::random_array({k, n}, dtype, kHost, 2);
        check_everywhere({m, n}, a.view, b.view);
      }
    }
  }
}

TEST_CASE("matmul: transposed operands need no copy and give the same product") {
  DType dtype = GENERATE(kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kUInt8);
  bool large = GENERATE(false, true);
  int64_t m = large ? 70 : 6, n = large ? 90 : 10, k = large ? 80 : 7;
  Array a = dense::random_array({m, k}, dtype, kHost, 1),
        at = dense::random_array({k, m}, dtype, kHost, 1);
  Array b = dense::random_array({k, n}, dtype, kHost, 2),
        bt = dense::random_array({n, k}, dtype, kHost, 2);
  ArrayView a_turned = dense::permuted(at.view, {1, 0}),
            b_turned = dense::permuted(bt.view, {1, 0});
  if (dtype == kUInt8)
    return check_everywhere({3, 4}, dense::random_array({3, 5}, dtype, kHost, 1).view,
                            dense::random_array({5, 4}, dtype, kHost, 2).view);
  check_everywhere({m, n}, a.view, b_turned);
  check_everywhere({m, n}, a_turned, b.view);
  check_everywhere({m, n}, a_turned, b_turned);
}

TEST_CASE("matmul: large products are cut into tiles") {
  DType dtype = GENERATE(kFloat32, kFloat64);
  Array a = dense::random_array({300, 130}, dtype, kHost, 1),
        b = dense::random_array({130, 700}, dtype, kHost, 2);
  check_everywhere({300, 700}, a.view, b.view);
}

TEST_CASE("matmul: leading dimensions broadcast") {
  DType dtype = GENERATE(kFloat32, kFloat64, kFloat16, kInt32);
  Array a = dense::random_array({4, 3, 5, 6}, dtype, kHost, 1);
  Array b = dense::random_array({4, 3, 6, 7}, dtype, kHost, 2);
  Array b2 = dense::random_array({6, 7}, dtype, kHost, 2);
  Array b3 = dense::random_array({3, 6, 7}, dtype, kHost, 2);
  Array a3 = dense::random_array({4, 1, 5, 6}, dtype, kHost, 3);
  Array a1 = dense::random_array({4, 3, 1, 6}, dtype, kHost, 4);
  check_everywhere({4, 3, 5, 7}, a.view, b.view);
  check_everywhere({4, 3, 5, 7}, a.view, b2.view);
  check_everywhere({4, 3, 5, 7}, a.view, b3.view);
  check_everywhere({4, 3, 5, 7}, a3.view, b3.view);
  check_everywhere({4, 3, 1, 7}, a1.view, b2.view);
  check_everywhere({4, 3, 1, 7}, a1.view, b.view);

  ArrayView one_row = a1.view;  // the same row for every batch
  one_row.strides[0] = one_row.strides[1] = 0;
  check_everywhere({4, 3, 1, 7}, one_row, b2.view);
  ArrayView overlapping = a1.view;  // windows that share memory
  overlapping.strides[0] = 3;
  overlapping.strides[1] = 1;
  check_everywhere({4, 3, 1, 7}, overlapping, b2.view);
}

TEST_CASE("matmul: odd strides in operands") {
  DType dtype = GENERATE(kFloat32, kFloat64);
  Array a = dense::random_array({5, 8, 2}, dtype, kHost, 1),
        b = dense::random_array({8, 9, 3}, dtype, kHost, 2);
  ArrayView every_second = a.view, every_third = b.view, row = a.view, column = b.view;
  every_second.sizes = {5, 8}, every_second.strides = {16, 2};
  every_third.sizes = {8, 9}, every_third.strides = {27, 3};
  row.sizes = {5, 8}, row.strides = {0, 1};        // one row, expanded
  column.sizes = {8, 9}, column.strides = {1, 0};  // one column, expanded
  check_everywhere({5, 9}, every_second, every_third);
  check_everywhere({5, 9}, row, column);
  ArrayView scalar = a.view;
  scalar.sizes = {5, 8}, scalar.strides = {0, 0};
  check_everywhere({5, 9}, scalar, every_third);
}

TEST_CASE("matmul: products with vectors and dot products") {
  DType dtype = GENERATE(kFloat32, kFloat64);
  for (int64_t k : {1, 3, 100, 5000, 40000}) {
    Array x = dense::random_array({1, k}, dtype, kHost, 1),
          y = dense::random_array({k, 1}, dtype, kHost, 2);
    check_everywhere({1, 1}, x.view, y.view);
    Array a = dense::random_array({40, k}, dtype, kHost, 3),
          at = dense::random_array({k, 40}, dtype, kHost, 3);
    check_everywhere({40, 1}, a.view, y.view);
    check_everywhere({1, 40}, x.view, at.view);
    check_everywhere({40, 1}, dense::permuted(at.view, {1, 0}), y.view);
    check_everywhere({1, 40}, x.view, dense::permuted(a.view, {1, 0}));
  }
}

TEST_CASE("matmul: factor, accumulation and bias") {
  DType dtype = GENERATE(kFloat32, kFloat64, kBFloat16);
  auto [m, n, k] =
      GENERATE(std::tuple{4, 5, 6}, std::tuple{1, 5, 6}, std::tuple{5, 1, 6},
               std::tuple{70, 66, 80}, std::tuple{1, 1, 20000}, std::tuple{300, 300, 100});
  Array a = dense::random_array({m, k}, dtype, kHost, 1),
        b = dense::random_array({k, n}, dtype, kHost, 2);
  Array bias = dense::random_array({n}, dtype, kHost, 3);
  check_everywhere({m, n}, a.view, b.view, {.alpha = -0.5});
  for (Device device : test::host_devices()) {
    for (bool reference : {false, true}) {
      CAPTURE(device.str(), reference, m, n, k, name_of(dtype));
      std::unique_ptr<ReferenceKernels> scope(reference ? new ReferenceKernels : nullptr);
      Array out = dense::random_array({m, n}, dtype, device, 5);
      auto before = out.values();
      kernels::MatmulOptions options{.alpha = 0.5, .accumulate = true};
      kernels::matmul(out.view, a.view, b.view, options);
      check_close(out, expected_product({m, n}, a.view, b.view, options, before), k);

      Array fresh({m, n}, dtype, device);
      kernels::matmul(fresh.view, a.view, b.view, {.bias = &bias.view});
      check_close(fresh, expected_product({m, n}, a.view, b.view, {}, {}, bias.values()), k);
    }
  }
}

TEST_CASE("matmul: the result may be a transposed or strided view") {
  DType dtype = GENERATE(kFloat32, kFloat64, kFloat16);
  Array a = dense::random_array({2, 5, 6}, dtype, kHost, 1),
        b = dense::random_array({2, 6, 7}, dtype, kHost, 2);
  Array row = dense::random_array({2, 1, 6}, dtype, kHost, 1);
  auto expected = expected_product({2, 5, 7}, a.view, b.view);
  Array turned({2, 7, 5}, dtype, kHost), wide({2, 5, 7, 3}, dtype, kHost),
      line({2, 7, 3}, dtype, kHost);
  ArrayView strided = wide.view;
  strided.sizes = {2, 5, 7}, strided.strides = {105, 21, 3};
  kernels::matmul(dense::permuted(turned.view, {0, 2, 1}), a.view, b.view);
  kernels::matmul(strided, a.view, b.view);
  ArrayView thin = line.view;
  thin.sizes = {2, 1, 7}, thin.strides = {21, 21, 3};
  kernels::matmul(thin, row.view, b.view);
  auto expected_row = expected_product({2, 1, 7}, row.view, b.view);
  double bound = dense::error_bound(dtype, 6) * 7;
  for (int64_t i = 0; i < 70; ++i) {
    int64_t batch = i / 35, r = i / 7 % 5, c = i % 7;
    CHECK(std::abs(turned.get(batch * 35 + c * 5 + r) - expected[static_cast<size_t>(i)]) <= bound);
    CHECK(std::abs(wide.get(i * 3) - expected[static_cast<size_t>(i)]) <= bound);
    if (r == 0) {
      CHECK(std::abs(line.get(batch * 21 + c * 3) -
                     expected_row[static_cast<size_t>(batch * 7 + c)]) <= bound);
    }
  }
}

TEST_CASE("matmul: empty dimensions") {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16, kInt64}) {
    for (Device device : test::host_devices()) {
      Array out({3, 4}, dtype, device), a({3, 0}, dtype, device), b({0, 4}, dtype, device);
      kernels::matmul(out.view, a.view, b.view);
      for (double v : out.values()) CHECK(v == 0);
      Array none({0, 4}, dtype, device), a0({0, 5}, dtype, device), b0({5, 4}, dtype, device);
      kernels::matmul(none.view, a0.view, b0.view);
    }
  }
}

TEST_CASE("matmul: 16-bit floats are rounded once") {
  // 1 + 2^-9 in bfloat16's neighbourhood: partial sums must not be rounded.
  Array a({1, 512}, kBFloat16, kHost), b({512, 1}, kBFloat16, kHost), out({1, 1}, kBFloat16, kHost);
  for (int64_t i = 0; i < 512; ++i) a.set(i, 1), b.set(i, i == 0 ? 1 : 1.0 / 512);
  kernels::matmul(out.view, a.view, b.view);
  CHECK(out.get(0) == 2.0);  // 1 + 511/512 rounds to 2
}
