#include <catch2/catch_test_macros.hpp>

#include <nn/events.hpp>
#include <nn/no_leaks.hpp>

/// Named arguments: a reflected aggregate at the end of forward, written with designators where it
/// is called.
namespace farro::test {
namespace {

using nn::Args;
using nn::Kwargs;
using nn::Module;
using nn::Ref;
using nn::Value;

struct AttendOptions {
  double scale = 1;
  bool causal = false;
  std::string mode = "plain";
  std::optional<Tensor> bias{};
  std::vector<int64_t> window{};
  FARRO_FIELDS(AttendOptions, scale, causal, mode, bias, window)
};

/// Says in its result what options reached it.
struct Attend : Module {
  AttendOptions last;
  FARRO_MEMBERS(Attend)
  Tensor forward(const Tensor& x, const AttendOptions& options = {}) {
    last = options;
    Tensor y = x * options.scale;
    return options.bias ? y + *options.bias : y;
  }
};
struct TwoInputs : Module {
  FARRO_MEMBERS(TwoInputs)
  Tensor forward(const Tensor& q, const Tensor& k, const AttendOptions& options = {}) {
    return (q + k) * options.scale;
  }
};
/// Passes its options on to a child.
struct Outer : Module {
  Ref<Attend> inner{Attend()};
  FARRO_MEMBERS(Outer, inner)
  Tensor forward(const Tensor& x, const AttendOptions& options = {}) { return inner(x, options); }
};

std::vector<std::string> names(const Kwargs& kwargs) {
  std::vector<std::string> result;
  for (const auto& entry : kwargs) result.push_back(entry.first);
  return result;
}

}  // namespace

TEST_CASE("named options: written with designators, on modules and handles", "[M14]") {
  NoLeaks no_leaks;
  Attend attend;
  Ref<Attend> handle{Attend()};
  Tensor x = leaf({1, 2});
  for (bool hooked : {false, true}) {
    if (hooked) {
      attend.register_forward_hook([] {});
      handle->register_forward_hook([] {});
    }
    CHECK(attend(x).to_vector() == std::vector<double>{1, 2});
    CHECK(attend(x, {.scale = 3}).to_vector() == std::vector<double>{3, 6});
    CHECK(handle(x, {.scale = 2, .bias = ones({2}, {.dtype = kFloat64})}).to_vector() ==
          std::vector<double>{3, 5});
    CHECK(handle->last.scale == 2);
    CHECK(attend(x, {.causal = true, .mode = "sparse", .window = {3, 5}}).numel() == 2);
    CHECK(attend.last.causal);
    CHECK(attend.last.mode == "sparse");
    CHECK(attend.last.window == std::vector<int64_t>{3, 5});
    CHECK(TwoInputs()(x, x, {.scale = 2}).to_vector() == std::vector<double>{4, 8});
  }
}

TEST_CASE("named options: hooks see every one by name, and may replace some", "[M14][M10]") {
  NoLeaks no_leaks;
  Attend attend;
  Tensor x = leaf({1, 2});
  std::vector<std::vector<std::string>> seen;
  std::vector<double> scales;
  attend.register_forward_pre_hook(
      [&](Module&, const Args& args, const Kwargs& kwargs) {
        CHECK(args.size() == 1);
        seen.push_back(names(kwargs));
        scales.push_back(kwargs.at("scale").number());
        CHECK(kwargs.at("window").is_list());
        CHECK(kwargs.at("bias").is_null());
      },
      {.with_kwargs = true});
  attend.register_forward_pre_hook(
      [](Module&, const Args& args, const Kwargs&) {
        return std::pair<Args, Kwargs>{args, {{"scale", 10.0}, {"mode", "hooked"}}};
      },
      {.with_kwargs = true});
  attend.register_forward_hook(
      [&](Module&, const Args&, const Kwargs& kwargs, const Tensor&) {
        scales.push_back(kwargs.at("scale").number());
      },
      {.with_kwargs = true});
  CHECK(attend(x, {.scale = 4, .causal = true}).to_vector() == std::vector<double>{10, 20});
  CHECK(attend(x).to_vector() == std::vector<double>{10, 20});
  std::vector<std::string> all{"scale", "causal", "mode", "bias", "window"};
  CHECK(seen == std::vector<std::vector<std::string>>{all, all});
  CHECK(scales == std::vector<double>{4, 10, 1, 10});
  CHECK(attend.last.mode == "hooked");
  CHECK_FALSE(attend.last.causal);  // what a pre-hook leaves out has its default
}

TEST_CASE("named options: by name without types, and wrong names", "[M14]") {
  NoLeaks no_leaks;
  Outer outer;
  Module& module = outer;
  Tensor x = leaf({1, 2});
  CHECK(module.call({x}, {{"scale", 5}}).tensor().to_vector() == std::vector<double>{5, 10});
  CHECK(outer(x, {.scale = 2}).to_vector() == std::vector<double>{2, 4});
  CHECK(outer.inner->last.scale == 2);
  CHECK_THROWS_AS(module.call({x}, {{"scaling", 5}}), TypeError);
  CHECK_THROWS_AS(module.call({x}, {{"scale", "much"}}), TypeError);
  CHECK_THROWS_AS(module.call({x, x}, {{"scale", 5}}), TypeError);
  CHECK_THROWS_AS(nn::Tanh().call({x}, {{"scale", 5}}), TypeError);
  outer.register_forward_pre_hook(
      [](Module&, const Args& args, const Kwargs&) {
        return std::pair<Args, Kwargs>{args, {{"unknown", 1}}};
      },
      {.with_kwargs = true});
  CHECK_THROWS_AS(outer(x), TypeError);
}

TEST_CASE("live tensors are counted") {
  int64_t before = NoLeaks::live_bytes();
  {
    Tensor x = zeros({1000}, {.dtype = kFloat64});
    CHECK(NoLeaks::live_bytes() >= before + 8000);
  }
  CHECK(NoLeaks::live_bytes() == before);
}

TEST_CASE("named options: are no inputs of backward hooks", "[M14][M18]") {
  NoLeaks no_leaks;
  Attend attend;
  Tensor x = leaf({1, 2}), bias = leaf({1, 1});
  size_t inputs = 0;
  attend.register_full_backward_hook([&](Module&, const nn::Grads& in) { inputs = in.size(); });
  attend(x, {.scale = 3, .bias = bias}).sum().backward();
  CHECK(inputs == 1);
  CHECK(x.grad().to_vector() == std::vector<double>{3, 3});
  CHECK(bias.grad().to_vector() == std::vector<double>{1, 1});
}

}  // namespace farro::test
