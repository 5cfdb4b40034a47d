#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <farro/nn/nn.hpp>

namespace farro::test {

TEST_CASE("summary: a table that lines up, and a module left as it was") {
  nn::Sequential net(nn::Conv2d({.in_channels = 1, .out_channels = 4, .kernel_size = 3}), nn::BatchNorm2d({4}), nn::ReLU(),
                     nn::Flatten(), nn::Linear({4 * 6 * 6, 10}));
  net[1]->eval();
  std::string text = nn::summary(net, {ones({2, 1, 8, 8})});
  CHECK(text ==
        "Layer              Output shape  Parameters  Multiply-adds\n"
        "----------------------------------------------------------\n"
        "Sequential         [2, 10]                0              0\n"
        "  0 (Conv2d)       [2, 4, 6, 6]          40          2,592\n"
        "  1 (BatchNorm2d)  [2, 4, 6, 6]           8              0\n"
        "  2 (ReLU)         [2, 4, 6, 6]           0              0\n"
        "  3 (Flatten)      [2, 144]               0              0\n"
        "  4 (Linear)       [2, 10]            1,450          2,880\n"
        "----------------------------------------------------------\n"
        "Parameters: 1,498 (1,498 trained)\n"
        "Multiply-adds: 5,472\n"
        "Parameters and buffers: 5.9 KiB\n"
        "Outputs of layers: 4.6 KiB");
  CHECK(net.training());
  CHECK(net[2]->training());
  CHECK_FALSE(net[1]->training());
  CHECK(net.get_buffer("1.num_batches_tracked").item_int() == 0);
  CHECK_FALSE(net[0]->has_call_hooks());
}

}  // namespace farro::test
