#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include <farro/backends/kernels/pool.hpp>

#include <support/array.hpp>

using namespace farro;
using namespace farro::kernels;
using test::Array;
using test::distance;
using test::random_array;
using test::same_bits;

namespace {

const Device kSerial = Device::of(0);

std::vector<PoolShape> shapes() {
  std::vector<PoolShape> result;
  for (int variant = 0; variant < 6; ++variant) {
    PoolShape s;
    s.planes = 5;
    int64_t size[3] = {variant == 3 ? 6 : 1, 9, 12};
    for (int d = variant == 3 ? 0 : 1; d < 3; ++d) {
      s.in[d] = size[d];
      s.kernel[d] = variant == 1 ? 2 : 3;
      s.stride[d] = variant == 2 ? 1 : 2;
      s.padding[d] = variant == 0 ? 0 : 1;
      s.dilation[d] = variant == 4 ? 2 : 1;
    }
    s.count_include_pad = variant != 2;
    s.divisor_override = variant == 5 ? 7 : 0;
    for (int d = 0; d < 3; ++d) {
      s.out[d] = pooled_size(s.in[d], s.kernel[d], s.stride[d], s.padding[d], s.dilation[d],
                             variant % 2 == 1);
    }
    result.push_back(s);
  }
  return result;
}

std::vector<Array> pool_step(const PoolShape& s, DType dtype, Device device, bool average) {
  Array x = random_array({s.planes, s.in_size()}, dtype, device, 1),
        g = random_array({s.planes, s.out_size()}, dtype, device, 2);
  Array y({s.planes, s.out_size()}, dtype, device), gx({s.planes, s.in_size()}, dtype, device);
  Array index({s.planes, s.out_size()}, kInt64, device),
      again({s.planes, s.out_size()}, dtype, device);
  if (average) {
    avg_pool(y, x, s);
    avg_pool_backward(gx, g, s);
  } else {
    max_pool(y, index, x, s);
    max_pool_backward(gx, g, index, s);
    max_pool_gather(again, x, index, s);
    CHECK(same_bits(y, again));
  }
  return {y, gx, index};
}

}  // namespace

TEST_CASE("pool: the fast kernels agree with the reference, and Serial with OpenMP", "[A20]") {
  for (const PoolShape& shape : shapes()) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      for (bool average : {false, true}) {
        if (average && shape.dilation[2] > 1) continue;
        std::vector<Array> serial = pool_step(shape, dtype, kSerial, average),
                           parallel = pool_step(shape, dtype, Device(), average);
        ReferenceKernels scope;
        std::vector<Array> plain = pool_step(shape, dtype, kSerial, average);
        for (size_t i = 0; i < serial.size(); ++i) {
          CHECK(same_bits(serial[i], parallel[i]));
          CHECK(distance(serial[i], plain[i]) <= (dtype == kFloat64   ? 1e-13
                                                  : dtype == kFloat32 ? 1e-6
                                                                      : 0.02));
        }
      }
    }
  }
}

TEST_CASE("max_pool: NaN wins, and so does the first of equal elements") {
  PoolShape s;
  s.planes = 1;
  s.in[2] = 6, s.kernel[2] = 3, s.stride[2] = 3, s.out[2] = 2;
  Array x({1, 6}, kFloat32, kSerial), y({1, 2}, kFloat32, kSerial), index({1, 2}, kInt64, kSerial);
  x.set(4, NAN);
  max_pool(y, index, x, s);
  CHECK(index[0] == 0);
  CHECK(index[1] == 4);
  CHECK(std::isnan(y[1]));
}
