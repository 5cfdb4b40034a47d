#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>

namespace farro::benchmarks {
namespace {

const TensorOptions kSerial{.device = Device("serial")};

/// What a programmer would write, in vector code: eight lanes of partial sums.
float plain_sum(const float* x, int64_t n) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) lanes[k] += x[i + k];
  }
  float total = 0;
  for (float lane : lanes) total += lane;
  for (; i < n; ++i) total += x[i];
  return total;
}

Jobs sum_against_loop(int64_t n) {
  Tensor x = ones({n}, kSerial);
  return {[x] { benchmark::DoNotOptimize(sum(x)); },
          [x, n] { benchmark::DoNotOptimize(plain_sum(x.data<const float>(), n)); },
          {.bytes = static_cast<double>(n) * sizeof(float)}};
}

Jobs sum_against_torch(int64_t n) {
  Tensor x = ones({n}, kSerial);
  return {[x] { benchmark::DoNotOptimize(sum(x)); },
          torch_reference::sum(n),
          {.bytes = static_cast<double>(n) * sizeof(float)}};
}

Jobs uniform_against_torch(int64_t n) {
  return {[n] { benchmark::DoNotOptimize(rand({n}, kSerial)); },
          torch_reference::uniform(n),
          {.items = static_cast<double>(n)}};
}

/// A sum over rows or columns of a square, or of its transpose.
Jobs sum_along(int64_t n, int64_t dim, bool transposed) {
  Tensor x = ones({n, n}, kSerial), view = transposed ? x.t() : x;
  return {[view, dim] { benchmark::DoNotOptimize(sum(view, {dim})); },
          {},
          {.bytes = static_cast<double>(n * n) * sizeof(float)}};
}

Jobs normal(int64_t n) {
  return {[n] { benchmark::DoNotOptimize(randn({n}, kSerial)); },
          {},
          {.items = static_cast<double>(n)}};
}

const bool registered = [] {
  for (int64_t n : {4096, 1 << 20, 1 << 24}) {
    std::string size = std::to_string(n);
    add_row("P17/sum/serial/f32/" + size, [=] { return sum_against_loop(n); });
    add_row("P17/sum_torch/serial/f32/" + size, [=] { return sum_against_torch(n); });
    add_row("P17/uniform/serial/f32/" + size, [=] { return uniform_against_torch(n); });
    add_row("normal/serial/f32/" + size, [=] { return normal(n); });
  }
  add_row("sum_rows/serial/f32/1024x1024", [] { return sum_along(1024, 1, false); });
  add_row("sum_columns/serial/f32/1024x1024", [] { return sum_along(1024, 0, false); });
  add_row("sum_rows_transposed/serial/f32/1024x1024", [] { return sum_along(1024, 1, true); });
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
