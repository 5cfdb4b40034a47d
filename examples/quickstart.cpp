#include <iostream>
#include <farro/farro.hpp>

using namespace farro;

struct Net : nn::Module {
  nn::Ref<nn::Linear> hidden{{.in_features = 1, .out_features = 32}};
  nn::Ref<nn::Linear> output{{.in_features = 32, .out_features = 1}};
  FARRO_MEMBERS(Net, hidden, output)
  Tensor forward(const Tensor& x) { return output(tanh(hidden(x))); }
};

int main(int argc, char** argv) {
  Runtime runtime(argc, argv);  // starts Kokkos
  manual_seed(0);
  Net net;
  optim::Adam adam(net.parameters(), {.lr = 1e-2});
  Tensor x = linspace(-3, 3, 256).unsqueeze(1), y = sin(x);
  for (int step = 0; step <= 1000; ++step) {
    adam.zero_grad();
    Tensor loss = nn::functional::mse_loss(net(x), y);
    loss.backward();
    adam.step();
    if (step % 250 == 0) std::cout << "step " << step << "  loss " << loss.item() << '\n';
  }
  std::cout << net << '\n' << net(full({1, 1}, 0.5)) << "  sin(0.5) is 0.4794\n";
}
