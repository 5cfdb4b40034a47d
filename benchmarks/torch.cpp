#include <farro/benchmarks/torch.hpp>

#ifdef FARRO_HAVE_TORCH

#include <torch/torch.h>

#include <memory>
#include <vector>

namespace farro::benchmarks::torch_reference {
namespace {

const auto kGrad = torch::TensorOptions().requires_grad(true);

/// Runs forward and backward of `loss` against a gradient of its output's shape, from cleared
/// gradients.
template <class Forward>
Job forward_backward(std::vector<torch::Tensor> leaves, Forward forward) {
  torch::Tensor grad = torch::ones_like(forward());
  return [=] {
    for (const torch::Tensor& leaf : leaves) leaf.mutable_grad().reset();
    forward().backward(grad);
  };
}

}  // namespace

bool available() { return true; }
void set_threads(int threads) { torch::set_num_threads(threads); }

Job chain(int64_t n, int length) {
  torch::Tensor x = torch::ones({n}, kGrad), w = torch::full({n}, 1.0001);
  return forward_backward({x}, [=] {
    torch::Tensor y = x;
    for (int i = 0; i < length; ++i) y = y * w;
    return y;
  });
}

Job add(int64_t n) {
  torch::Tensor a = torch::ones({n}), b = torch::ones({n});
  return [=] {
    torch::NoGradGuard guard;
    torch::Tensor c = a + b;
    benchmark::DoNotOptimize(c);
  };
}

Job conv2d(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t kernel) {
  torch::Tensor x = torch::randn({batch, in, size, size}, kGrad);
  torch::Tensor w = torch::randn({out, in, kernel, kernel}, kGrad);
  return forward_backward({x, w}, [=] { return torch::conv2d(x, w, {}, 1, kernel / 2); });
}

Job layer_norm(int64_t rows, int64_t columns) {
  torch::Tensor x = torch::randn({rows, columns}, kGrad);
  torch::Tensor w = torch::ones({columns}, kGrad), b = torch::zeros({columns}, kGrad);
  return forward_backward({x, w, b}, [=] { return torch::layer_norm(x, {columns}, w, b); });
}

Job softmax(int64_t rows, int64_t columns) {
  torch::Tensor x = torch::randn({rows, columns}, kGrad);
  return forward_backward({x}, [=] { return torch::softmax(x, -1); });
}

Job batch_norm(int64_t batch, int64_t channels, int64_t size) {
  torch::Tensor x = torch::randn({batch, channels, size, size}, kGrad);
  torch::Tensor w = torch::ones({channels}, kGrad), b = torch::zeros({channels}, kGrad);
  torch::Tensor mean = torch::zeros({channels}), var = torch::ones({channels});
  return forward_backward(
      {x, w, b}, [=] { return torch::batch_norm(x, w, b, mean, var, true, 0.1, 1e-5, false); });
}

Job gate(int64_t n, bool with_backward) {
  auto options = torch::TensorOptions().requires_grad(with_backward);
  torch::Tensor x = torch::randn({n}, options), w = torch::randn({n}, options),
                b = torch::randn({n}, options);
  auto forward = [=] { return torch::tanh(x * w + b) * torch::sigmoid(x) + x; };
  if (with_backward) return forward_backward({x, w, b}, forward);
  return [=] {
    torch::NoGradGuard guard;
    torch::Tensor y = forward();
    benchmark::DoNotOptimize(y);
  };
}

Job sum(int64_t n) {
  torch::Tensor x = torch::ones({n});
  return [=] { benchmark::DoNotOptimize(x.sum()); };
}

Job uniform(int64_t n) {
  return [=] { benchmark::DoNotOptimize(torch::rand({n})); };
}

Job adam(int64_t n) {
  torch::Tensor p = torch::ones({n}, kGrad);
  p.mutable_grad() = torch::full({n}, 1e-3);
  auto optimizer = std::make_shared<torch::optim::Adam>(std::vector<torch::Tensor>{p},
                                                        torch::optim::AdamOptions(1e-3));
  return [=] { optimizer->step(); };
}

namespace {

struct FashionNet : torch::nn::Module {
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
  torch::nn::Dropout dropout{nullptr};

  FashionNet() {
    conv1 =
        register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3).padding(1)));
    conv2 =
        register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3).padding(1)));
    fc1 = register_module("fc1", torch::nn::Linear(64 * 7 * 7, 128));
    fc2 = register_module("fc2", torch::nn::Linear(128, 10));
    dropout = register_module("dropout", torch::nn::Dropout(0.25));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    return fc2(dropout(torch::relu(fc1(x.flatten(1)))));
  }
};

}  // namespace

Job fashion_mnist_epoch(const float* images, const int64_t* labels, int64_t count, int64_t batch,
                        int threads) {
  auto net = std::make_shared<FashionNet>();
  auto optimizer =
      std::make_shared<torch::optim::Adam>(net->parameters(), torch::optim::AdamOptions(1e-3));
  torch::Tensor x = torch::from_blob(const_cast<float*>(images), {count, 1, 28, 28}).clone();
  torch::Tensor y = torch::from_blob(const_cast<int64_t*>(labels), {count}, torch::kInt64).clone();
  return [=] {
    set_threads(threads);
    torch::Tensor order = torch::randperm(count);
    for (int64_t at = 0; at < count; at += batch) {
      torch::Tensor index = order.slice(0, at, std::min(at + batch, count));
      optimizer->zero_grad();
      torch::nn::functional::cross_entropy(net->forward(x.index_select(0, index)),
                                           y.index_select(0, index))
          .backward();
      optimizer->step();
    }
    set_threads(1);
  };
}

}  // namespace farro::benchmarks::torch_reference

#else

namespace farro::benchmarks::torch_reference {

bool available() { return false; }
void set_threads(int) {}
Job chain(int64_t, int) { return {}; }
Job add(int64_t) { return {}; }
Job conv2d(int64_t, int64_t, int64_t, int64_t, int64_t) { return {}; }
Job layer_norm(int64_t, int64_t) { return {}; }
Job softmax(int64_t, int64_t) { return {}; }
Job batch_norm(int64_t, int64_t, int64_t) { return {}; }
Job gate(int64_t, bool) { return {}; }
Job sum(int64_t) { return {}; }
Job uniform(int64_t) { return {}; }
Job adam(int64_t) { return {}; }
Job fashion_mnist_epoch(const float*, const int64_t*, int64_t, int64_t, int) { return {}; }

}  // namespace farro::benchmarks::torch_reference

#endif
