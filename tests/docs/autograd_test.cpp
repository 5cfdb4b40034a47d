#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>
#include <support/devices.hpp>
#include <farro/farro.hpp>

/// The first half of docs/autograd.md: what stands there in frames stands here, and is compiled and
/// run.

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::vector<double>;

/// The text of the error that f throws.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const GradError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("autograd.md: a tape") {
  Tensor x = tensor({1., 2., 3.}, {.dtype = kFloat64, .requires_grad = true});
  Tensor w = tensor({4., 5., 6.}, {.dtype = kFloat64, .requires_grad = true});
  Tensor y = exp(x * w / 10);
  Tensor loss = (y + x).sum();
  std::string text = tape_text(loss);
  loss.backward();

  CHECK(text == R"(0 SumBackward -> 1
1 AddBackward -> 2 6
2 ExpBackward [1 saved, 24 bytes] -> 3
3 DivBackward [1 saved, 8 bytes] -> 4 -
4 MulBackward [2 saved, 48 bytes] -> 6 5
5 AccumulateGrad (leaf [3] float64)
6 AccumulateGrad (leaf [3] float64)
)");
  CHECK(x.grad().defined());
  CHECK(w.grad().defined());

  // The picture shows these nodes, in this order.
  std::ifstream in(FARRO_GOLDEN_DIR "/../../docs/autograd-tape.svg");
  std::string svg{std::istreambuf_iterator<char>(in), {}};
  size_t at = 0;
  for (const char* name : {"AccumulateGrad", "AccumulateGrad", "MulBackward", "DivBackward",
                           "ExpBackward", "AddBackward", "SumBackward"}) {
    at = svg.find(name, at + 1);
    INFO(name);
    REQUIRE(at != svg.npos);
  }
}

TEST_CASE("autograd.md: what the tape amounts to") {
  Tensor x = rand({100, 10}, {.requires_grad = true}), w = rand({10, 10}, {.requires_grad = true});
  Tensor loss = tanh(matmul(x, w)).sum();
  TapeStats stats = tape_stats(loss);
  std::string line =
      fmt::format("{} nodes, {} of them leaves, {} edges, {} tensors of {} bytes kept", stats.nodes,
                  stats.leaves, stats.edges, stats.saved_tensors, stats.saved_bytes);
  loss.backward();
  int64_t afterwards = tape_stats(loss).saved_bytes;  // 0: backward has let them go

  CHECK(line == R"(5 nodes, 2 of them leaves, 4 edges, 3 tensors of 8400 bytes kept)");
  CHECK(afterwards == 0);
  CHECK_THAT(tape_dot(loss), ContainsSubstring("digraph"));
  CHECK(nlohmann::json::parse(tape_json(loss))["nodes"].size() == 5);
}

TEST_CASE("autograd.md: in place") {
  Tensor a = tensor({1., 2., 3.}, {.requires_grad = true});
  Tensor b = a * 1;
  b.slice(0, 1).mul_(10);  // a view is changed: b gets a new history
  b.sum().backward();
  Values gradient = a.grad().to_vector();  // 1, 10, 10

  CHECK(gradient == Values{1, 10, 10});
}

TEST_CASE("autograd.md: a kept tensor is changed") {
  Tensor a = tensor({1., 2., 3.}, {.requires_grad = true});
  Tensor c = exp(a);
  c.add_(1);  // allowed, but exp has kept its result for backward
  std::string error = error_of([&] { c.sum().backward(); });

  CHECK(
      error ==
      R"([ExpBackward] a tensor of shape [3] that backward needs was changed in place: expected version 0, got 1)");
  error = error_of([&] { a.add_(1); });
  CHECK(error != "no error");
  NoGrad guard;
  CHECK(error_of([&] { a.add_(1); }) == "no error");
}

TEST_CASE("autograd.md: what in-place changes are refused") {
  Tensor leaf = ones({2, 2}, {.requires_grad = true}), y = leaf * 1;
  CHECK(error_of([&] { leaf.mul_(2); }) != "no error");
  CHECK(error_of([&] { leaf.select(0, 0).mul_(2); }) != "no error");
  CHECK(error_of([&] { ones({1}).expand({3}).add_(1); }) != "no error");
  CHECK(error_of([&] { y.unbind()[0].mul_(2); }) != "no error");
  Tensor quiet;
  {
    NoGrad guard;
    quiet = y.select(0, 0);
  }
  CHECK(error_of([&] { quiet.mul_(leaf.select(0, 0)); }) != "no error");
  Tensor inference;
  {
    InferenceMode mode;
    inference = ones({2});
  }
  CHECK(error_of([&] { inference.mul_(2); }) != "no error");
  CHECK(error_of([&] { y.mul_(2); }) == "no error");
}

TEST_CASE("autograd.md: the order of hooks") {
  std::vector<std::string> order;
  auto note = [&](std::string what) {
    return [&order, what](const auto&...) { order.push_back(what); };
  };

  Tensor x = ones({1}, {.requires_grad = true});
  Tensor y = x * 2;
  y.retain_grad();
  y.register_hook([&](const Tensor& g) {
    order.push_back("hook of y");
    return g * 3;
  });
  y.grad_fn()->register_prehook(note("pre-hook of MulBackward"));
  y.grad_fn()->register_hook(note("post-hook of MulBackward"));
  x.register_hook(note("hook of x"));
  x.register_post_accumulate_grad_hook(note("gradient of x is there"));
  y.backward();

  CHECK(order == std::vector<std::string>{"hook of y", "pre-hook of MulBackward",
                                          "post-hook of MulBackward", "hook of x",
                                          "gradient of x is there"});
  CHECK(y.grad().item() == 3);  // what the hook made of it
  CHECK(x.grad().item() == 6);
}

TEST_CASE("autograd.md: memory of others") {
  using Space = Kokkos::DefaultHostExecutionSpace;
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> field("field", 3, 4);
  Tensor t = from_view(field).requires_grad_();
  field(1, 2) = 5;
  (t * t).sum().backward();
  double slope = t.grad()[{1, 2}].item();  // 10

  CHECK(slope == 10);
}

TEST_CASE("autograd.md: the same bits") {
  std::vector<Values> losses, gradients;
  for (Device device : available_devices()) {
    if (!device.is_host()) continue;
    manual_seed(1);
    Tensor x = randn({300, 300}, {.device = device, .requires_grad = true});
    Tensor loss = log_softmax(matmul(x, x), 1).mean();
    loss.backward();
    losses.push_back({loss.item()});
    gradients.push_back(x.grad().to_vector());
  }
  bool same = losses.front() == losses.back() && gradients.front() == gradients.back();  // true

  if (losses.size() < 2) SKIP("Kokkos was built with one host backend");
  CHECK(same);
}
