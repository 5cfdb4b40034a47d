#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include <farro/backends/kernels/norm.hpp>

#include <support/array.hpp>

using namespace farro;
using namespace farro::kernels;
using test::Array;
using test::distance;
using test::random_array;
using test::same_bits;

namespace {

const Device kSerial = Device::of(0);

double bound(DType dtype) { return dtype == kFloat64 ? 1e-11 : dtype == kFloat32 ? 2e-5 : 0.03; }
DType wide(DType dtype) { return dtype == kFloat64 ? kFloat64 : kFloat32; }

/// Everything that a training step of one layer gives.
std::vector<Array> batch_norm_step(const Dims& shape, DType dtype, Device device, bool training) {
  Array x = random_array(shape, dtype, device, 1, 2, 4), g = random_array(shape, dtype, device, 2);
  Dims channels{shape[1]};
  Array weight = random_array(channels, dtype, device, 3),
        bias = random_array(channels, dtype, device, 4);
  Array mean = random_array(channels, wide(dtype), device, 5),
        inv_std = random_array(channels, wide(dtype), device, 6, 1, 2);
  Array running_mean(channels, kFloat32, device), running_var(channels, kFloat32, device),
      y(shape, dtype, device);
  Array gx(shape, dtype, device), gw(channels, dtype, device), gb(channels, dtype, device);
  if (training) {
    batch_norm(y, mean, inv_std, x, &weight, &bias, 1e-5, 0.1, &running_mean, &running_var);
  } else {
    batch_norm_apply(y, x, mean, inv_std, &weight, &bias);
  }
  batch_norm_backward(&gx, &gw, &gb, g, x, mean, inv_std, &weight, training);
  return {y, mean, inv_std, running_mean, running_var, gx, gw, gb};
}

std::vector<Array> layer_norm_step(int64_t rows, int64_t n, DType dtype, Device device) {
  Array x = random_array({rows, n}, dtype, device, 1, 2, 4),
        g = random_array({rows, n}, dtype, device, 2);
  Array weight = random_array({n}, dtype, device, 3), bias = random_array({n}, dtype, device, 4);
  Array mean({rows}, wide(dtype), device), inv_std({rows}, wide(dtype), device),
      y({rows, n}, dtype, device);
  Array gx({rows, n}, dtype, device), gw({n}, dtype, device), gb({n}, dtype, device);
  layer_norm(y, mean, inv_std, x, &weight, &bias, 1e-5);
  layer_norm_backward(&gx, &gw, &gb, g, x, mean, inv_std, &weight);
  return {y, mean, inv_std, gx, gw, gb};
}

template <class Step>
void check(const Step& step, DType dtype) {
  std::vector<Array> serial = step(kSerial), parallel = step(Device());
  ReferenceKernels scope;
  std::vector<Array> plain = step(kSerial);
  for (size_t i = 0; i < serial.size(); ++i) {
    INFO("result " << i << ", " << name_of(dtype));
    CHECK(same_bits(serial[i], parallel[i]));
    CHECK(distance(serial[i], plain[i]) <=
          bound(dtype) * std::sqrt(1.0 + static_cast<double>(serial[0].view.numel()) / 100));
  }
}

}  // namespace

TEST_CASE("batch_norm: the fast kernels agree with the reference, and Serial with OpenMP",
          "[A20]") {
  for (Dims shape : {Dims{8, 3}, Dims{300, 37}, Dims{4, 5, 7}, Dims{3, 6, 9, 11},
                     Dims{2, 3, 100, 100}, Dims{2, 40, 1}}) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      for (bool training : {true, false}) {
        INFO(to_string(shape) << (training ? ", training" : ", evaluation"));
        check([&](Device device) { return batch_norm_step(shape, dtype, device, training); },
              dtype);
      }
    }
  }
}

TEST_CASE("batch_norm: a large mean does not spoil the variance") {
  Array x({64, 1, 64}, kFloat32, kSerial), y({64, 1, 64}, kFloat32, kSerial),
      mean({1}, kFloat32, kSerial), inv_std({1}, kFloat32, kSerial);
  for (int64_t i = 0; i < x.view.numel(); ++i) x.set(i, 10000 + (i % 2 ? 0.5 : -0.5));
  batch_norm(y, mean, inv_std, x, nullptr, nullptr, 0, 0.1, nullptr, nullptr);
  CHECK(mean[0] == 10000);
  CHECK(inv_std[0] == 2);
}

TEST_CASE("layer_norm: the fast kernels agree with the reference, and Serial with OpenMP",
          "[A20]") {
  for (auto [rows, n] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {7, 5}, {300, 64}, {40, 1000}, {3, 5001}}) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      INFO(rows << " rows of " << n);
      check([&, r = rows, c = n](Device device) { return layer_norm_step(r, c, dtype, device); },
            dtype);
    }
  }
}
