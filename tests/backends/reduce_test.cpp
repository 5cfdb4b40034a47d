#include <cmath>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <farro/backends/kernels/reduce.hpp>

#include <support/array.hpp>

using namespace farro;
using namespace farro::kernels;
using test::Array;
using test::distance;
using test::random_array;
using test::same_bits;

namespace {

const Device kSerial = Device::of(0);
const std::vector<ReduceOp> kOps = {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Prod, ReduceOp::Max,
                                    ReduceOp::Min, ReduceOp::Any,  ReduceOp::All};

Array reduced(const Array& in, const Dims& shape, ReduceOp op, DType dtype) {
  Array out(shape, dtype, in.view.device);
  reduce(out, in, op);
  return out;
}

struct Case {
  Dims in, out;
};
const std::vector<Case> kCases = {{{}, {}},
                                  {{1}, {}},
                                  {{7}, {}},
                                  {{100000}, {}},
                                  {{3, 5000}, {3, 1}},
                                  {{5000, 3}, {1, 3}},
                                  {{300, 70}, {70}},
                                  {{70, 300}, {70, 1}},
                                  {{4, 5, 6, 7}, {5, 1, 1}},
                                  {{4, 5, 6, 7}, {4, 1, 6, 1}},
                                  {{9, 1, 130}, {1, 1, 130}},
                                  {{2, 9000, 65}, {2, 1, 65}},
                                  {{6, 10}, {6, 10}},
                                  {{0, 3}, {3}},
                                  {{3, 0}, {0}}};

}  // namespace

TEST_CASE("reduce: the fast kernels agree with the reference") {
  for (const Case& c : kCases) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16, kInt64, kInt32, kBool}) {
      for (ReduceOp op : kOps) {
        Array in = random_array(c.in, dtype, kSerial, 3, op == ReduceOp::Prod ? 0.99 : -3,
                                op == ReduceOp::Prod ? 1.01 : 3);
        DType result = dtype == kBool || dtype == kInt32 ? kInt64 : dtype;
        if (op == ReduceOp::Mean && !is_floating_point(dtype)) continue;
        Array fast = reduced(in, c.out, op, result);
        ReferenceKernels scope;
        Array plain = reduced(in, c.out, op, result);
        INFO(to_string(c.in) << " to " << to_string(c.out) << ", " << name_of(dtype) << ", op "
                             << static_cast<int>(op));
        CHECK(distance(fast, plain) <= (dtype == kFloat64    ? 1e-12
                                        : dtype == kBFloat16 ? 0.02
                                                             : 2e-4));
      }
    }
  }
}

TEST_CASE("reduce: the bits depend on neither threads nor layout", "[bits][A20]") {
  for (const Case& c : kCases) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      Array in = random_array(c.in, dtype, kSerial);
      Array serial = reduced(in, c.out, ReduceOp::Sum, dtype);
      std::vector<int> order(static_cast<size_t>(in.view.ndim()));
      for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(order.size() - 1 - d);
      INFO(to_string(c.in) << " to " << to_string(c.out) << ", " << name_of(dtype));
      CHECK(same_bits(reduced(in.laid_out(order), c.out, ReduceOp::Sum, dtype), serial));
      Array parallel = in;
      parallel.view.device = Device();
      CHECK(same_bits(reduced(parallel, c.out, ReduceOp::Sum, dtype), serial));
    }
  }
}

TEST_CASE("reduce: no elements give the neutral value") {
  Array none({0}, kFloat32, kSerial);
  CHECK(reduced(none, {}, ReduceOp::Sum, kFloat32)[0] == 0);
  CHECK_FALSE(std::signbit(reduced(none, {}, ReduceOp::Sum, kFloat32)[0]));
  CHECK(reduced(none, {}, ReduceOp::Prod, kFloat32)[0] == 1);
  CHECK(std::isnan(reduced(none, {}, ReduceOp::Mean, kFloat32)[0]));
  CHECK(reduced(none, {}, ReduceOp::Any, kBool)[0] == 0);
  CHECK(reduced(none, {}, ReduceOp::All, kBool)[0] == 1);
}

TEST_CASE("reduce: NaN wins a maximum wherever it stands") {
  for (int64_t n : {5, 64, 65, 1000, 5000}) {
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      for (DType dtype : {kFloat32, kFloat64}) {
        Array in = random_array({n}, dtype, kSerial);
        in.set(at, NAN);
        CHECK(std::isnan(reduced(in, {}, ReduceOp::Max, dtype)[0]));
        CHECK(std::isnan(reduced(in, {}, ReduceOp::Min, dtype)[0]));
        CHECK(reduced(in, {}, ReduceOp::Any, kBool)[0] == 1);
        Array index({}, kInt64, kSerial);
        arg_reduce(index, nullptr, in, true);
        CHECK(index[0] == at);
        arg_reduce(index, nullptr, in, false);
        CHECK(index[0] == at);
      }
    }
  }
}

TEST_CASE("reduce: a float32 sum of many numbers keeps its precision") {
  Array in({1 << 22}, kFloat32, kSerial);
  for (int64_t i = 0; i < in.view.numel(); ++i) in.set(i, 0.1);
  double expected = static_cast<double>(0.1f) * static_cast<double>(in.view.numel());
  CHECK(std::abs(reduced(in, {}, ReduceOp::Sum, kFloat32)[0] / expected - 1) < 4e-6);
}

TEST_CASE("arg_reduce: the first of equal elements, in any layout") {
  for (Dims sizes : {Dims{5, 6000, 7}, Dims{3, 4, 5}, Dims{2, 3000, 1}}) {
    Array in(sizes, kInt32, kSerial);
    for (int64_t i = 0; i < in.view.numel(); ++i) in.set(i, static_cast<double>(i * 7919 % 13));
    Array transposed = in.laid_out({2, 1, 0});
    for (bool largest : {true, false}) {
      for (Dims shape : {Dims{sizes[0], 1, sizes[2]}, Dims{sizes[0], sizes[1], 1},
                         Dims{1, sizes[1], sizes[2]}, Dims{1, 1, 1}}) {
        Array index(shape, kInt64, kSerial), value(shape, kInt32, kSerial);
        Array index2(shape, kInt64, Device()), value2(shape, kInt32, Device()),
            index3(shape, kInt64, kSerial);
        arg_reduce(index, &value, in, largest);
        transposed.view.device = Device();
        arg_reduce(index2, &value2, transposed, largest);
        CHECK(same_bits(index, index2));
        CHECK(same_bits(value, value2));
        ReferenceKernels scope;
        arg_reduce(index3, nullptr, in, largest);
        CHECK(same_bits(index, index3));
      }
    }
  }
}

TEST_CASE("variance: two passes, any correction") {
  Array in = random_array({40, 300, 3}, kFloat32, kSerial, 5, 1000, 1001);
  for (Dims shape : {Dims{1, 1, 1}, Dims{40, 1, 3}, Dims{1, 300, 1}, Dims{40, 300, 1}}) {
    Array fast(shape, kFloat32, kSerial), mean(shape, kFloat32, kSerial),
        plain(shape, kFloat64, kSerial);
    variance(fast, &mean, in, 1);
    Array wide(in.view.sizes, kFloat64, kSerial);
    for (int64_t i = 0; i < in.view.numel(); ++i) wide.set(i, in[i]);
    ReferenceKernels scope;
    variance(plain, nullptr, wide, 1);
    for (int64_t i = 0; i < fast.view.numel(); ++i)
      CHECK(std::abs(fast[i] - plain[i]) < 1e-3 * (plain[i] + 1e-3));
    CHECK(mean[0] > 1000);
  }
}
