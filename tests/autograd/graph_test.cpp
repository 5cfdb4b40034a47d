#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include <support/compare.hpp>
#include <support/threads.hpp>
#include <farro/autograd/graph.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;
using farro::test::leaf;

TEST_CASE("the tape's text lists nodes in the order of backward") {
  Tensor x = leaf({1, 2, 3}), w = test::from_values({1, 2, 3});
  Tensor square = x * x, product = x * w;
  Tensor y = (square + product).sum();
  CHECK(tape_text(y) ==
        "0 SumBackward -> 1\n"
        "1 AddBackward -> 3 2\n"
        "2 MulBackward [1 saved, 24 bytes] -> 4 -\n"
        "3 MulBackward [2 saved, 24 bytes] -> 4 4\n"
        "4 AccumulateGrad (leaf [3] float64)\n");
}

TEST_CASE("the tape's statistics count memory once") {
  Tensor x = leaf({1, 2, 3});
  Tensor y = (x * x * x).sum();
  TapeStats stats = tape_stats(y);
  CHECK(stats.nodes == 4);
  CHECK(stats.leaves == 1);
  CHECK(stats.edges == 5);
  CHECK(stats.saved_tensors == 4);
  CHECK(stats.saved_bytes == 48);
  y.backward();
  CHECK(tape_stats(y).saved_bytes == 0);
}

TEST_CASE("tensors without history have an empty tape") {
  Tensor plain = test::from_values({1});
  CHECK(tape_stats(plain).nodes == 0);
  CHECK(tape_text(plain).empty());
  CHECK_THAT(tape_dot(plain), ContainsSubstring("digraph"));
}

TEST_CASE("a tape of a million nodes is counted and printed on a small stack", "[A13]") {
  Tensor x = leaf({1});
  TapeStats stats;
  size_t lines = 0;
  test::on_thread_with_stack(256 * 1024, [&] {
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + x;
    stats = tape_stats(y);
    std::string text = tape_text(y);
    lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  });
  CHECK(stats.nodes == 1'000'001);
  CHECK(stats.edges == 2'000'000);
  CHECK(lines == 1'000'001);
}

TEST_CASE("dot reads the tape's DOT") {
  Tensor x = leaf({1, 2, 3}), w = leaf({2, 3, 4});
  std::array<Tensor, 2> outputs = {(x * w).sum(), exp(x)};
  std::string text = tape_dot(outputs);
  CHECK_THAT(text, ContainsSubstring("MulBackward") && ContainsSubstring("leaf [3] float64") &&
                       ContainsSubstring("output [3] float64"));
  if (std::system("dot -V >/dev/null 2>&1") != 0) SKIP("dot is not installed");
  std::string path = std::string(FARRO_TEST_OUTPUT_DIR) + "/tape.dot";
  std::ofstream(path) << text;
  CHECK(std::system(("dot -Tsvg '" + path + "' -o '" + path + ".svg'").c_str()) == 0);
}

TEST_CASE("the tape as JSON lists nodes, what they keep, and where their gradients go") {
  Tensor x = leaf({1, 2, 3}), w = test::from_values({2, 3, 4});
  Tensor y = (x * w).sum();
  auto json = nlohmann::json::parse(tape_json(y));
  REQUIRE(json["nodes"].size() == 3);
  CHECK(json["outputs"] == nlohmann::json::array({0}));
  CHECK(json["nodes"][0]["name"] == "SumBackward");
  CHECK(json["nodes"][1]["saved_tensors"] == 1);
  CHECK(json["nodes"][1]["saved_bytes"] == 24);
  CHECK(json["nodes"][1]["edges"] == nlohmann::json::array({2, nullptr}));
  CHECK(json["nodes"][2]["shape"] == nlohmann::json::array({3}));
  CHECK(json["nodes"][2]["dtype"] == "float64");
  CHECK(nlohmann::json::parse(tape_json(w))["outputs"] == nlohmann::json::array({nullptr}));
}
