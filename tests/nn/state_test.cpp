#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nn/events.hpp>
#include <support/temporary_folder.hpp>
#include <farro/io/safetensors.hpp>
#include <farro/nn/layers/normalization.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Names = std::vector<std::string>;

nn::Sequential make_net() {
  return nn::Sequential(nn::Linear({2, 3}), nn::BatchNorm1d({3}), nn::Linear({3, 1}));
}

struct WithExtra : nn::Module {
  nn::Parameter w{ones({1})};
  double level = 2;
  FARRO_MEMBERS(WithExtra, w)
  std::optional<Tensor> get_extra_state() const override { return tensor({level}); }
  void set_extra_state(const Tensor& state) override { level = state.item(); }
};

}  // namespace

TEST_CASE("state_dict: order, versions, sharing", "[M26]") {
  nn::Sequential net = make_net();
  nn::StateDict state = net.state_dict();
  CHECK(state.keys() == Names{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                              "1.running_var", "1.num_batches_tracked", "2.weight", "2.bias"});
  CHECK(state.versions["1"] == 2);
  CHECK(state.versions[""] == 1);
  CHECK_FALSE(state["0.weight"].requires_grad());
  CHECK(state["0.weight"].storage() == net.get_parameter("0.weight").storage());
  CHECK(net.state_dict({.keep_vars = true})["0.weight"].is_same(net.get_parameter("0.weight")));
  CHECK(net.state_dict({.prefix = "model."}).contains("model.0.weight"));
}

TEST_CASE("load_state_dict: copies in place, casts, keeps identity", "[M31]") {
  nn::Sequential net = make_net(), other = make_net();
  Tensor weight = net.get_parameter("0.weight");
  uint32_t version = weight.version();
  nn::StateDict state = other.double_().state_dict();
  nn::LoadResult result = net.load_state_dict(state);
  CHECK(result.missing_keys.empty());
  CHECK(net.get_parameter("0.weight").is_same(weight));
  CHECK(weight.dtype() == kFloat32);
  CHECK(weight.requires_grad());
  CHECK(weight.version() > version);
  CHECK(allclose(weight.detach().to(kFloat64), state["0.weight"], {.rtol = 1e-7}));
}

TEST_CASE("load_state_dict: throws once, with everything that is wrong, and changes nothing",
          "[M28][M29][M30]") {
  nn::Sequential net = make_net();
  nn::StateDict state = make_net().state_dict();
  std::vector<double> before = net.get_parameter("0.weight").to_vector();
  state.erase("2.bias");
  for (const char* name : {"0.foo", "0.weight.x", "zzz", "5.x"}) state.set(name, ones({1}));
  CHECK_THROWS_MATCHES(
      net.load_state_dict(state), KeyError,
      MessageMatches(ContainsSubstring("Sequential") && ContainsSubstring("2.bias")));
  CHECK(net.get_parameter("0.weight").to_vector() == before);
  nn::LoadResult result = net.load_state_dict(state, {.strict = false});
  CHECK(result.missing_keys == Names{"2.bias"});
  CHECK(result.unexpected_keys == Names{"zzz", "5.x", "0.foo", "0.weight.x"});
  state.set("2.weight", ones({5}));
  before = net.get_parameter("0.weight").to_vector();
  CHECK_THROWS_MATCHES(
      net.load_state_dict(state, {.strict = false}), ShapeError,
      MessageMatches(ContainsSubstring("2.weight") && ContainsSubstring("[1, 3]")));
  CHECK(net.get_parameter("0.weight").to_vector() == before);
}

TEST_CASE("load_state_dict: a load hook that makes it fail leaves the module as it was",
          "[M27][M29]") {
  nn::Linear layer({2, 2});
  std::vector<double> before = layer.weight.to_vector();
  Tensor weight = layer.weight;
  ScopedHandle handle = layer.register_load_state_dict_post_hook(
      [](nn::Module&, nn::LoadResult&) { fail<ValueError>("hook", "no"); });
  nn::StateDict state{{"weight", zeros({2, 2})}, {"bias", zeros({2})}};
  for (bool assign : {false, true}) {
    CHECK_THROWS_AS(layer.load_state_dict(state, {.assign = assign}), ValueError);
    CHECK(layer.weight.is_same(weight));
    CHECK(layer.weight.to_vector() == before);
  }
}

TEST_CASE("load_state_dict: assign adopts tensors, ties stay", "[M32]") {
  nn::Linear layer({2, 2});
  layer.register_parameter("tied", layer.weight);
  layer.weight.requires_grad_(false);
  Tensor given = zeros({2, 2}, {.dtype = kFloat64});
  nn::StateDict state{{"weight", given}, {"bias", zeros({2})}, {"tied", given}};
  layer.load_state_dict(state, {.assign = true});
  CHECK(layer.weight.storage() == given.storage());
  CHECK(layer.weight.dtype() == kFloat64);
  CHECK_FALSE(layer.weight.requires_grad());
  CHECK(layer.get_parameter("tied").is_same(layer.weight));
  CHECK(state.size() == 3);
}

TEST_CASE("load_state_dict: batch norm fills what version 1 did not have", "[M33]") {
  nn::BatchNorm1d norm({2});
  nn::StateDict state = norm.state_dict();
  state.erase("num_batches_tracked");
  CHECK_THROWS_AS(norm.load_state_dict(state), KeyError);
  state.versions[""] = 1;
  CHECK_NOTHROW(norm.load_state_dict(state));
}

TEST_CASE("state_dict: class versions pass through files", "[M26][M33]") {
  TemporaryFolder folder;
  std::filesystem::path file = folder / "net.safetensors";
  nn::Sequential net = make_net();
  nn::StateDict state = net.state_dict();
  io::save_safetensors(state, file, {{"made_by", "a test"}});
  io::TensorMap map = io::load(file);
  CHECK(map.metadata.at("made_by") == "a test");
  CHECK(nn::StateDict(map).versions == state.versions);
  CHECK(state.versions.at("1") == 2);
  CHECK(net.load_state_dict(map).missing_keys.empty());
  // Version 2 has num_batches_tracked, version 1 had not.
  state.erase("1.num_batches_tracked");
  io::save_safetensors(state, file);
  CHECK_THROWS_AS(net.load_state_dict(io::load(file)), KeyError);
  state.versions["1"] = 1;
  io::save_safetensors(state, file);
  CHECK_NOTHROW(net.load_state_dict(io::load(file)));
  // Texts of a stranger that are no versions do no harm.
  io::save_safetensors(state, file, {{"version:1", "two"}, {"version:", "99999999999999999999"}});
  CHECK(nn::StateDict(io::load(file)).versions.count("1") == 0);
}

TEST_CASE("state_dict: extra state", "[M34]") {
  WithExtra a, b;
  a.level = 7;
  nn::StateDict state = a.state_dict();
  CHECK(state.keys() == Names{"w", "_extra_state"});
  b.load_state_dict(state);
  CHECK(b.level == 7);
  state.erase("_extra_state");
  CHECK(b.load_state_dict(state, {.strict = false}).missing_keys == Names{"_extra_state"});
  nn::Linear layer({1, 1});
  nn::StateDict other = layer.state_dict();
  other.set("_extra_state", ones({1}));
  CHECK(layer.load_state_dict(other, {.strict = false}).unexpected_keys == Names{"_extra_state"});
}

}  // namespace farro::test
