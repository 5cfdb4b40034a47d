#include <catch2/catch_test_macros.hpp>

#include <utility>

#include <support/compare.hpp>
#include <support/devices.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/map.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/kernels/stream.hpp>

using namespace farro;

namespace {

/// All results of this many bytes and more are written past the caches.
class StreamFrom {
 public:
  explicit StreamFrom(int64_t bytes)
      : previous_(std::exchange(kernels::stream_threshold(), bytes)) {}
  ~StreamFrom() { kernels::stream_threshold() = previous_; }

 private:
  int64_t previous_;
};

std::vector<Tensor> results(Device device, DType dtype, int64_t n) {
  auto input = [&](uint64_t seed) {
    return test::random({n}, {.dtype = dtype, .device = device, .requires_grad = true}, seed, -2,
                        2);
  };
  Tensor x = input(1), y = input(2),
         z = test::random({3, n}, {.dtype = dtype, .device = device}, 3, -2, 2);
  Tensor sum = x * y + tanh(x), spread = z * x, turned = z.transpose(0, 1) - 1.0;
  Tensor fused = map([](auto a, auto b) { return a * math::exp(b); }, x, y);
  Tensor inplace = z * 1.0;
  inplace.mul_(z).add_(1.0);
  std::vector<Tensor> all{sum, spread, turned, fused, inplace};
  Tensor dy = test::random({n}, {.dtype = dtype, .device = device}, 4, -1, 1);
  for (const Tensor& g : grad({sum, fused}, {x, y}, {}, {dy, dy})) all.push_back(g);
  return all;
}

}  // namespace

TEST_CASE("results written past the caches have the same bits", "[A20][bits]") {
  for (Device device : test::host_devices()) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      for (int64_t n : {1, 15, 16, 500, 2048, 8192, 20011}) {
        CAPTURE(device.str(), name_of(dtype), n);
        auto expected = results(device, dtype, n);
        StreamFrom all(0);
        auto streamed = results(device, dtype, n);
        for (size_t i = 0; i < expected.size(); ++i) {
          CAPTURE(i);
          CHECK(test::bitwise_equal(streamed[i], expected[i]));
        }
      }
    }
  }
}
