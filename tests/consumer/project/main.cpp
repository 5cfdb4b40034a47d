#include <farro/farro.hpp>

#include <cstdio>

using namespace farro;

struct Net : nn::Module {
  nn::Ref<nn::Linear> fc{{.in_features = 3, .out_features = 2}};
  FARRO_MEMBERS(Net, fc)

  Tensor forward(const Tensor& x) { return tanh(fc(x)); }
};

int main(int argc, char** argv) {
  Runtime runtime(argc, argv);
  Net net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  Tensor x = ones({4, 3});
  auto loss = [&] {
    Tensor y = net(x);
    return (y * y).sum();
  };
  double before = loss().item<double>();
  for (int step = 0; step < 10; ++step) {
    sgd.zero_grad();
    loss().backward();
    sgd.step();
  }
  double after = loss().item<double>();
  std::printf("%g %g\n", before, after);
  return after < before ? 0 : 1;
}
