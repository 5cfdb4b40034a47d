#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sstream>

#include <nn/events.hpp>
#include <farro/nn/layers/conv.hpp>
#include <farro/nn/layers/normalization.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Module;
using nn::Parameter;
using nn::Ref;

struct Net : Module {
  Ref<nn::Linear> fc{{.in_features = 3, .out_features = 2}};
  Ref<nn::Linear> none;
  Parameter scale{ones({1})};
  nn::Buffer seen{zeros({2})};
  nn::Buffer scratch{zeros({2}), false};
  Parameter absent;
  FARRO_MEMBERS(Net, fc, none, scale, seen, scratch, absent)
  Tensor forward(const Tensor& x) { return fc(x) * scale; }
};

struct Child : Net {
  Parameter more{ones({2})};
  FARRO_DERIVED_MEMBERS(Child, Net, more)
};

struct Empty : Module {
  FARRO_MEMBERS(Empty)
};

/// A module that stands in itself.
struct Ring : Module {
  Ref<Module> next;
  Parameter w{ones({2})};
  FARRO_MEMBERS(Ring, next, w)
};

template <class T>
std::vector<std::string> names(const nn::Named<T>& named) {
  std::vector<std::string> result;
  for (const auto& entry : named) result.push_back(entry.first);
  return result;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("module: names are not empty, have no dot and are not taken", "[M1]") {
  Net net;
  CHECK_THROWS_AS(net.register_parameter("", Parameter()), KeyError);
  CHECK_THROWS_AS(net.register_buffer("a.b", zeros({1})), KeyError);
  CHECK_THROWS_AS(net.register_module("scale", Empty()), KeyError);
  CHECK_THROWS_AS(net.register_parameter("scale", Parameter()), KeyError);
  net.register_buffer("b", zeros({1}));
  CHECK_THROWS_AS(net.register_parameter("b", Parameter()), KeyError);
  net.register_buffer("b", ones({1}));
  CHECK(net.get_buffer("b").item() == 1);
}

TEST_CASE("parameter: must be a leaf", "[M2]") {
  Tensor x = ones({2}, {.requires_grad = true});
  CHECK_THROWS_MATCHES(Parameter(x * 2), ValueError,
                       MessageMatches(ContainsSubstring("detach") && ContainsSubstring("forward")));
  Parameter p(x);
  CHECK(p.is_leaf());
  CHECK(p.requires_grad());
  CHECK_FALSE(p.is_same(x));
  CHECK(p.storage() == x.storage());
  CHECK_THROWS_AS(Parameter(zeros({2}, {.dtype = kInt64})), TypeError);
}

TEST_CASE("module: null keeps its place and is absent from iteration and state", "[M3][M5]") {
  Net net;
  CHECK(names(net.named_parameters()) == Names{"scale", "fc.weight", "fc.bias"});
  CHECK(net.state_dict().keys() == Names{"scale", "seen", "fc.weight", "fc.bias"});
  CHECK(names(net.named_modules()) == Names{"", "fc"});
  net.absent = Parameter(ones({1}));
  net.none = nn::Linear({1, 1, false});
  CHECK(names(net.named_parameters()) ==
        Names{"scale", "absent", "fc.weight", "fc.bias", "none.weight"});
  CHECK(names(Child().named_parameters()) == Names{"scale", "more", "fc.weight", "fc.bias"});
}

TEST_CASE("module: attributes by name", "[M4]") {
  Net net;
  Ref<nn::Linear> other{{3, 5}};
  net.set_attr("fc", other);
  CHECK(net.fc == other);
  CHECK_THROWS_AS(net.set_attr("fc", Ref<Empty>(Empty())), TypeError);
  CHECK_THROWS_AS(net.set_attr("fc", zeros({1})), TypeError);
  CHECK_THROWS_AS(net.set_attr("scale", zeros({1})), TypeError);
  net.set_attr("scale", nullptr);
  CHECK_FALSE(net.scale.defined());
  net.set_attr("scratch", ones({2}));
  CHECK_FALSE(net.scratch.persistent());
  net.set_attr("extra", ones({1}));
  CHECK(net.buffers().size() == 2);
  net.set_attr("extra", Parameter(ones({1})));
  CHECK(net.get_parameter("extra").item() == 1);
  net.del_attr("extra");
  CHECK_FALSE(net.has_attr("extra"));
  CHECK_THROWS_MATCHES(net.attr("extra"), AttributeError, MessageMatches(ContainsSubstring("Net")));
  net.register_buffer("b", ones({1}), false);
  net.set_attr("b", zeros({1}));
  CHECK_FALSE(net.state_dict().contains("b"));
  net.register_buffer("b", zeros({1}));
  CHECK(net.state_dict().contains("b"));
}

TEST_CASE("module: shared members come once, under their first name", "[M36]") {
  nn::Linear layer({2, 2});
  layer.register_parameter("again", layer.weight);
  CHECK(names(layer.named_parameters()) == Names{"weight", "bias"});
  CHECK(names(layer.named_parameters({.prefix = "m", .remove_duplicate = false})) ==
        Names{"m.weight", "m.bias", "m.again"});
  Ref<nn::Tanh> act{nn::Tanh()};
  nn::Sequential net({{"a", act}, {"b", act}});
  CHECK(names(net.named_children()) == Names{"a"});
  CHECK(names(net.named_modules({.remove_duplicate = false})) == Names{"", "a", "b"});
}

TEST_CASE("module: cycles end", "[M36][M38][M39]") {
  auto ring = nn::make<Ring>();
  ring->next = ring;
  CHECK(ring->modules().size() == 1);
  CHECK(ring->named_parameters({.remove_duplicate = false}).size() == 1);
  int calls = 0;
  ring->train(false).apply([&](Module&) { ++calls; }).double_();
  CHECK(calls == 1);
  CHECK(ring->w.dtype() == kFloat64);
  CHECK(ring->state_dict().size() == 1);
  CHECK_THAT(ring->repr(), ContainsSubstring("Ring"));
  Ref<Ring> copy = nn::clone(ring);
  CHECK(copy->next.get() == copy.get());
  copy->next = nullptr;
  ring->next = nullptr;
}

TEST_CASE("module: paths", "[M37]") {
  Net net;
  CHECK(&net.get_submodule("") == &net);
  CHECK(&net.get_submodule("fc") == net.fc.get());
  CHECK_THROWS_MATCHES(net.get_submodule("fc.nope"), AttributeError,
                       MessageMatches(ContainsSubstring("nope")));
  CHECK_THROWS_AS(net.get_submodule("scale"), AttributeError);
  CHECK_THROWS_AS(net.get_parameter("seen"), AttributeError);
  CHECK_THROWS_AS(net.get_buffer("fc.weight"), AttributeError);
  CHECK(net.get_parameter("fc.weight").is_same(net.fc->weight));
}

TEST_CASE("module: conversion keeps identity, ties and gradients", "[M39][M40]") {
  Net net;
  net.register_parameter("tied", net.fc->weight);
  Tensor weight = net.fc->weight;
  net(ones({1, 3})).sum().backward();
  int calls = 0;
  net._apply([&](const Tensor& t) {
    ++calls;
    return t.to(kFloat64);
  });
  CHECK(calls == 3 + 3 + 2);  // parameters, their gradients, buffers
  CHECK(net.fc->weight.is_same(weight));
  CHECK(weight.dtype() == kFloat64);
  CHECK(weight.grad().dtype() == kFloat64);
  CHECK(net.get_parameter("tied").is_same(weight));
  CHECK(net.seen.dtype() == kFloat64);

  CHECK_THROWS_AS(net.to(kInt64), TypeError);
  CHECK_THROWS_AS(net.to(Device("nowhere")), BackendError);
  calls = 0;
  CHECK_THROWS_AS(net._apply([&](const Tensor& t) -> Tensor {
    if (++calls == 3) fail<ValueError>("test", "no");
    return t.to(kFloat32);
  }),
                  ValueError);
  CHECK(weight.dtype() == kFloat64);

  nn::BatchNorm1d norm({2});
  norm.half();
  CHECK(norm.running_mean.dtype() == kFloat16);
  CHECK(norm.num_batches_tracked.dtype() == kInt64);
  norm.type(kFloat32);
  CHECK(norm.num_batches_tracked.dtype() == kFloat32);
}

TEST_CASE("module: zero_grad drops gradients or zeroes them", "[M41]") {
  nn::Linear layer({2, 2});
  layer(ones({1, 2})).sum().backward();
  Tensor grad = layer.weight.grad();
  layer.zero_grad(false);
  CHECK(layer.weight.grad().is_same(grad));
  CHECK(grad.to_vector() == std::vector<double>(4, 0));
  layer.zero_grad();
  CHECK_FALSE(layer.weight.grad().defined());
}

TEST_CASE("clone: independent, with ties and module hooks, without gradients", "[M42]") {
  Net net;
  net.register_parameter("tied", net.fc->weight);
  int calls = 0;
  net.fc->register_forward_hook([&] { ++calls; });
  net(ones({1, 3})).sum().backward();
  Ref<Net> copy = nn::clone(net);
  CHECK_FALSE(copy->fc == net.fc);
  CHECK(copy->get_parameter("tied").is_same(copy->fc->weight));
  CHECK(bitwise_equal(copy->fc->weight.detach(), net.fc->weight.detach()));
  CHECK_FALSE(copy->fc->weight.storage() == net.fc->weight.storage());
  CHECK_FALSE(copy->fc->weight.grad().defined());
  CHECK_FALSE(copy->scratch.persistent());
  copy(ones({1, 3}));
  CHECK(calls == 2);
  net.set_attr("result", net(ones({1, 3})));
  CHECK_THROWS_AS(nn::clone(net), GradError);
}

TEST_CASE("module: prints as PyTorch prints", "[M43]") {
  std::ostringstream out;
  out << Net();
  CHECK(out.str() ==
        "Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n  (none): None\n)");
  CHECK(Empty().repr() == "Empty()");
  CHECK(nn::Conv2d({.in_channels = 4,
                    .out_channels = 4,
                    .kernel_size = {3, 5},
                    .stride = 2,
                    .padding = {1, 2},
                    .dilation = 2,
                    .groups = 2,
                    .bias = false,
                    .padding_mode = "circular"})
            .repr() ==
        "Conv2d(4, 4, kernel_size=(3, 5), stride=(2, 2), padding=(1, 2), dilation=(2, 2), "
        "groups=2, bias=False, "
        "padding_mode=circular)");
}

TEST_CASE("sequential: by position and by name, sliced, appended to", "[M44]") {
  nn::Sequential net(nn::Linear({2, 3}), nn::ReLU(), nn::Linear({3, 1}));
  CHECK(names(net.named_children()) == Names{"0", "1", "2"});
  Tensor x = ones({1, 2});
  CHECK(bitwise_equal(nn::Sequential()(x), x));
  CHECK(net[-1] == net[2]);
  CHECK_THROWS_AS(net[3], IndexError);
  nn::Sequential tail = net.slice(1);
  tail.append(nn::Tanh());
  CHECK(names(tail.named_children()) == Names{"1", "2", "3"});
  net.pop(0);
  CHECK(names(net.named_children()) == Names{"0", "1"});
  net.insert(0, nn::Linear({2, 3}));
  CHECK(net.size() == 3);
  CHECK((net + tail).size() == 6);
  CHECK_THROWS_AS((nn::Sequential({{"a", nullptr}})(x)), ValueError);
}

}  // namespace farro::test
