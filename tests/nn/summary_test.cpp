#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nn/scenario_modules.hpp>
#include <farro/nn/nn.hpp>
#include <farro/nn/utils/weight_norm.hpp>

namespace farro::test {

TEST_CASE("summary: a table that lines up, and a module left as it was") {
  nn::Sequential net(nn::Conv2d({.in_channels = 1, .out_channels = 4, .kernel_size = 3}),
                     nn::BatchNorm2d({4}), nn::ReLU(), nn::Flatten(), nn::Linear({4 * 6 * 6, 10}));
  net[1]->eval();
  std::string text = nn::summary(net, {ones({2, 1, 8, 8})});
  CHECK(text ==
        "Layer              Output shape  Parameters  Multiply-adds  Bytes\n"
        "-----------------------------------------------------------------\n"
        "Sequential         [2, 10]                0              0     80\n"
        "  0 (Conv2d)       [2, 4, 6, 6]          40          2,592  1,152\n"
        "  1 (BatchNorm2d)  [2, 4, 6, 6]           8              0  1,152\n"
        "  2 (ReLU)         [2, 4, 6, 6]           0              0  1,152\n"
        "  3 (Flatten)      [2, 144]               0              0  1,152\n"
        "  4 (Linear)       [2, 10]            1,450          2,880     80\n"
        "-----------------------------------------------------------------\n"
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

TEST_CASE("summary: lazy and parametrized layers, several outputs, several calls") {
  nn::Ref<nn::ReLU> twice{nn::ReLU()};
  nn::Sequential net(nn::LazyLinear({.out_features = 3}), twice, twice, nn::Linear({3, 2, false}));
  nn::utils::weight_norm(*net[3]);
  CHECK(nn::summary(net, {ones({1, 5})}) ==
        "Layer         Output shape  Parameters  Multiply-adds  Bytes\n"
        "------------------------------------------------------------\n"
        "Sequential    [1, 2]                 0              0      8\n"
        "  0 (Linear)  [1, 3]                18             15     12\n"
        "  1 (ReLU)    [1, 3]                 0              0     24\n"
        "  3 (Linear)  [1, 2]                 8              6      8\n"
        "------------------------------------------------------------\n"
        "Parameters: 26 (26 trained)\n"
        "Multiply-adds: 21\n"
        "Parameters and buffers: 104 bytes\n"
        "Outputs of layers: 44 bytes");
  Pair pair;
  CHECK_THAT(nn::summary(pair, {ones({2}), ones({2})}),
             Catch::Matchers::ContainsSubstring("[2], [2]"));
}

}  // namespace farro::test
