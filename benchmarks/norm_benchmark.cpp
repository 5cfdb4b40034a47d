#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/loss.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pool.hpp>
#include <farro/autograd/ops/softmax.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>

namespace farro::benchmarks {
namespace {

const TensorOptions kLeaf{.device = Device("serial"), .requires_grad = true};

/// Forward and backward of f, with gradients dropped after each call.
template <class F>
Job training(const std::vector<Tensor>& leaves, const Tensor& grad, const F& f) {
  return [=] {
    f().backward(grad);
    for (const Tensor& leaf : leaves) leaf.set_grad({});
  };
}

/// Bytes that forward and backward move at least: x, y; g, x, gx.
double moved(int64_t n) { return static_cast<double>(n) * 5 * sizeof(float); }

Jobs layer_norm_jobs(int64_t rows, int64_t columns) {
  Tensor x = randn({rows, columns}, kLeaf), w = ones({columns}, kLeaf), b = zeros({columns}, kLeaf);
  return {training({x, w, b}, ones({rows, columns}, {.device = x.device()}),
                   [=] { return layer_norm(x, {columns}, w, b); }),
          torch_reference::layer_norm(rows, columns),
          {.bytes = moved(rows * columns)}};
}

Jobs softmax_jobs(int64_t rows, int64_t columns) {
  Tensor x = randn({rows, columns}, kLeaf);
  return {
      training({x}, ones({rows, columns}, {.device = x.device()}), [=] { return softmax(x, -1); }),
      torch_reference::softmax(rows, columns),
      {.bytes = moved(rows * columns)}};
}

Jobs batch_norm_jobs(int64_t batch, int64_t channels, int64_t size) {
  Tensor x = randn({batch, channels, size, size}, kLeaf), w = ones({channels}, kLeaf),
         b = zeros({channels}, kLeaf);
  TensorOptions plain{.device = x.device()};
  Tensor mean = zeros({channels}, plain), var = ones({channels}, plain);
  return {training({x, w, b}, ones(x.sizes(), plain),
                   [=] { return batch_norm(x, mean, var, w, b, true); }),
          torch_reference::batch_norm(batch, channels, size),
          {.bytes = moved(x.numel())}};
}

Jobs max_pool_jobs(int64_t batch, int64_t channels, int64_t size) {
  Tensor x = randn({batch, channels, size, size}, kLeaf),
         g = ones({batch, channels, size / 2, size / 2}, {.device = x.device()});
  return {training({x}, g, [=] { return max_pool2d(x, 2); }),
          {},
          {.bytes = static_cast<double>(x.numel()) * 14}};
}

Jobs cross_entropy_jobs(int64_t rows, int64_t classes) {
  Tensor x = randn({rows, classes}, kLeaf),
         target = randint(0, classes, {rows}, {.device = x.device()});
  return {training({x}, {}, [=] { return cross_entropy(x, target); }),
          {},
          {.bytes = static_cast<double>(x.numel()) * 12}};
}

std::string by(int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); }

const bool registered = [] {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 256}, {1024, 1024}, {8192, 512}}) {
    add_row("P15/layer_norm/training/serial/f32/" + by(rows, columns),
            [=] { return layer_norm_jobs(rows, columns); });
    add_row("P15/softmax/training/serial/f32/" + by(rows, columns),
            [=] { return softmax_jobs(rows, columns); });
  }
  for (auto [batch, channels, size] :
       {std::tuple<int64_t, int64_t, int64_t>{32, 64, 14}, {32, 64, 28}, {64, 32, 32}}) {
    add_row("P15/batch_norm/training/serial/f32/" + by(batch, channels) + "x" + by(size, size),
            [=] { return batch_norm_jobs(batch, channels, size); });
  }
  add_row("max_pool2d/training/serial/f32/64x32x28x28", [] { return max_pool_jobs(64, 32, 28); });
  add_row("cross_entropy/training/serial/f32/64x10", [] { return cross_entropy_jobs(64, 10); });
  add_row("cross_entropy/training/serial/f32/256x1000",
          [] { return cross_entropy_jobs(256, 1000); });
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
