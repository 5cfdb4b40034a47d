#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include <farro/backends/kernels/softmax.hpp>

#include <support/array.hpp>

using namespace farro;
using namespace farro::kernels;
using test::Array;
using test::distance;
using test::random_array;
using test::same_bits;

namespace {

const Device kSerial = Device::of(0);
const std::vector<Dims> kShapes = {{},        {1},       {5},        {3, 10},  {17, 33},
                                   {600, 64}, {3, 5000}, {4, 9, 21}, {2, 3, 0}};

Array forward(const Array& in, int dim, bool log, Device device) {
  Array out(in.view.sizes, in.view.dtype, device);
  softmax(out, in, dim, log);
  return out;
}

Array backward(const Array& grad, const Array& out, int dim, bool log, Device device) {
  Array result(out.view.sizes, out.view.dtype, device);
  softmax_backward(result, grad, out, dim, log);
  return result;
}

}  // namespace

TEST_CASE("softmax: the fast kernels agree with the reference, and Serial with OpenMP", "[A20]") {
  for (const Dims& shape : kShapes) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      for (int dim = 0; dim < std::max(shape.size(), 1); ++dim) {
        for (bool log : {false, true}) {
          Array in = random_array(shape, dtype, kSerial, 1, -5, 5),
                grad = random_array(shape, dtype, kSerial, 2);
          Array y = forward(in, dim, log, kSerial), gx = backward(grad, y, dim, log, kSerial);
          double bound = dtype == kFloat64 ? 1e-13 : dtype == kFloat32 ? 2e-6 : 0.02;
          INFO(to_string(shape) << ", dim " << dim << ", " << name_of(dtype)
                                << (log ? ", log" : ""));
          in.view.device = Device();
          CHECK(same_bits(forward(in, dim, log, Device()), y));
          Array on_openmp = y;
          on_openmp.view.device = Device();
          CHECK(same_bits(backward(grad, on_openmp, dim, log, Device()), gx));
          ReferenceKernels scope;
          CHECK(distance(forward(in, dim, log, kSerial), y) <= bound);
          CHECK(distance(backward(grad, y, dim, log, kSerial), gx) <= bound * 10);
        }
      }
    }
  }
}

TEST_CASE("softmax: probabilities below the smallest normal number are kept") {
  for (DType dtype : {kFloat32, kFloat64}) {
    double far = dtype == kFloat32 ? -90 : -720;
    Array in({2}, dtype, kSerial);
    in.set(0, 0);
    in.set(1, far);
    double y = forward(in, 0, false, kSerial)[1];
    INFO(name_of(dtype));
    CHECK(y > 0);
    CHECK(std::abs(y / std::exp(far) - 1) < 1e-4);
  }
}

TEST_CASE("softmax: large numbers don't overflow, minus infinity gives zero") {
  for (int64_t n : {3, 100}) {
    Array in({n}, kFloat32, kSerial);
    in.set(0, 1000);
    in.set(1, 1000);
    in.set(2, -INFINITY);
    Array y = forward(in, 0, false, kSerial);
    CHECK(y[0] == 0.5);
    CHECK(y[2] == 0);
    CHECK(forward(in, 0, true, kSerial)[2] == -INFINITY);
    CHECK(std::abs(forward(in, 0, true, kSerial)[0] + std::log(2)) < 1e-6);
  }
}
