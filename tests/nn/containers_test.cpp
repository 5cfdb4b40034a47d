#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nn/events.hpp>
#include <nn/scenario_modules.hpp>
#include <farro/nn/nn.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Ref;
using Names = std::vector<std::string>;

template <class T>
Names names(const nn::Named<T>& named) {
  Names result;
  for (const auto& entry : named) result.push_back(entry.first);
  return result;
}

/// A network whose forward goes over its lists.
struct Tower : nn::Module {
  nn::ModuleList layers{nn::Linear({2, 2}), nn::ReLU(), nn::Linear({2, 2})};
  nn::ModuleDict heads{{"type", nn::Linear({2, 1})}, {"keys", nn::Linear({2, 3})}};
  nn::ParameterList gains{full({1}, 2.0), full({1}, 3.0)};
  nn::ParameterDict shifts{{"to", zeros({2})}};
  FARRO_MEMBERS(Tower, layers, heads, gains, shifts)

  Tensor forward(const Tensor& x) {
    Tensor y = x + shifts["to"];
    for (Ref<nn::Module> layer : layers) y = layer(y);
    for (const nn::Parameter& gain : gains) y = y * gain;
    return heads["keys"](y);
  }
};

struct Sum : nn::Module {
  FARRO_MEMBERS(Sum)
  Tensor forward(const Tensor& a, const Tensor& b) { return a + b; }
};
/// Takes a pair as one argument.
struct First : nn::Module {
  FARRO_MEMBERS(First)
  Tensor forward(const std::pair<Tensor, Tensor>& pair) { return pair.first; }
};
/// A Sequential with a forward of its own.
struct Doubled : nn::Sequential {
  FARRO_MEMBERS(Doubled)
  Tensor forward(const Tensor& x) { return nn::Sequential::forward(x) * 2; }
};

}  // namespace

TEST_CASE("sequential: modules of several inputs and outputs", "[M44]") {
  Tensor a = leaf({1, 2}), b = leaf({3, 5});
  nn::Sequential net{Pair(), Sum()};
  CHECK(net.call({a, b}).tensor().to_vector() == std::vector<double>{1 * 3 + 4, 2 * 5 + 7});
  nn::Sequential whole{Ref<nn::Module>(Pair()), Ref<nn::Module>(First())};
  CHECK(whole.call({a, b}).tensor().to_vector() == std::vector<double>{3, 10});
  // Nested, with the pair crossing from one to the other.
  nn::Sequential outer{nn::Sequential(Pair(), nn::Sequential()), nn::Sequential(Sum()), nn::ReLU()};
  CHECK(outer.call({a, b}).tensor().to_vector() == std::vector<double>{7, 17});
  CHECK_FALSE(outer.forward_traits().maps_tensor);
  CHECK(outer.forward_traits().positional == 2);
  CHECK(nn::Sequential(Pair()).call({a, b}).list().size() == 2);
  CHECK_THROWS_AS(net.call({a}), TypeError);
  CHECK_THROWS_AS(nn::Sequential().call({a, b}), TypeError);
  CHECK(nn::Sequential().call({a}).tensor().is_same(a));
  // Named options reach the first module.
  CHECK(nn::Sequential(Scale(), nn::ReLU()).call({a}, {{"scale", 3}}).tensor().to_vector() ==
        std::vector<double>{3, 6});
  // A derived class' own forward is called, with and without types.
  Doubled doubled;
  doubled.append(nn::ReLU());
  CHECK(doubled.call({a}).tensor().to_vector() == std::vector<double>{2, 4});
  CHECK(doubled(a).to_vector() == std::vector<double>{2, 4});
  CHECK(doubled.repr() == "Doubled(\n  (0): ReLU()\n)");
}

TEST_CASE("sequential: hooks see several values", "[M44][M10]") {
  Tensor a = leaf({1, 2}), b = leaf({3, 5});
  nn::Sequential net{Pair(), Sum()};
  std::vector<size_t> seen;
  net.register_forward_pre_hook(
      [&](nn::Module&, const nn::Args& args) { seen.push_back(args.size()); });
  net[0]->register_forward_hook([&](nn::Module&, const nn::Args&, const nn::Value& output) {
    seen.push_back(output.list().size());
  });
  net[1]->register_forward_pre_hook(
      [&](nn::Module&, const nn::Args& args) { seen.push_back(args.size()); });
  net.call({a, b});
  CHECK(seen == std::vector<size_t>{2, 2, 2});
}

TEST_CASE("sequential: repeated, taken apart, iterated", "[M44]") {
  nn::Sequential net(nn::Linear({2, 2}), nn::ReLU());
  CHECK((net * 3).size() == 6);
  CHECK((2 * net)[2] == net[0]);
  CHECK_THROWS_AS(net * 0, ValueError);
  nn::Sequential all = net * 3;
  all.erase(1, {}, 2);
  CHECK(all.size() == 3);
  CHECK(names(all.named_children()) == Names{"0"});  // the same layer three times
  CHECK(names(all.named_modules({.remove_duplicate = false})) == Names{"", "0", "1", "2"});
  std::vector<std::string> classes;
  for (Ref<nn::Module> module : net) classes.emplace_back(module->class_name());
  CHECK(classes == Names{"Linear", "ReLU"});
  CHECK(net.get<nn::Linear>(0)->options.in_features == 2);
  CHECK_THROWS_AS(net.get<nn::Linear>(1), TypeError);
  CHECK_THROWS_AS(net.insert(4, nn::ReLU()), IndexError);
  net.insert(-1, nn::Tanh());
  CHECK(net[1]->class_name() == "Tanh");
  CHECK_THROWS_AS(nn::Sequential().pop(), IndexError);
  net += net;
  CHECK(net.size() == 6);
}

TEST_CASE("module list: as Python's lists", "[M45]") {
  nn::ModuleList list(nn::Linear({2, 2}), nn::ReLU());
  list.append(nn::Tanh()).insert(1, nn::Sigmoid());
  CHECK(names(list.named_children()) == Names{"0", "1", "2", "3"});
  CHECK(list[1]->class_name() == "Sigmoid");
  CHECK(list[-1]->class_name() == "Tanh");
  for (int64_t outside : {4, -5}) CHECK_THROWS_AS(list[outside], IndexError);
  CHECK_THROWS_MATCHES(list.pop(7), IndexError, MessageMatches(ContainsSubstring("7")));
  CHECK_THROWS_AS(list.set(4, nn::ReLU()), IndexError);
  CHECK_THROWS_AS(nn::ModuleList()[0], IndexError);

  nn::ModuleList part = list.slice(1, -1);
  CHECK(names(part.named_children()) == Names{"0", "1"});
  CHECK(part[0] == list[1]);
  CHECK(list.slice({}, {}, 2).size() == 2);
  CHECK_THROWS_AS(list.slice({}, {}, 0), ValueError);
  part.extend(list);
  CHECK(part.size() == 6);
  CHECK((part + list).size() == 10);
  part += part;
  CHECK(part.size() == 12);
  part.extend({nn::ReLU(), nullptr});
  CHECK_FALSE(part[-1]);

  CHECK(list.pop(1)->class_name() == "Sigmoid");
  CHECK(names(list.named_children()) == Names{"0", "1", "2"});
  list.erase(0);
  CHECK(list[0]->class_name() == "ReLU");
  list.set(0, nn::Linear({3, 4}));
  CHECK(list.get<nn::Linear>(0)->options.out_features == 4);
  list.erase({}, {});
  CHECK(list.empty());
}

TEST_CASE("module list and dict: calling them is a type error", "[M45]") {
  Tensor x = ones({1, 2});
  nn::ModuleList list{nn::ReLU()};
  nn::Module& module = list;
  CHECK_THROWS_AS(module(x), TypeError);
  CHECK_THROWS_AS(module.call({x}), TypeError);
  CHECK_THROWS_AS(nn::ModuleDict().call({x}), TypeError);
  CHECK_THROWS_AS(nn::ParameterList().call({x}), TypeError);
  CHECK_THROWS_AS(nn::ParameterDict().call({x}), TypeError);
}

TEST_CASE("module list: equal neighbours are printed as one", "[M43][M45]") {
  CHECK(nn::ModuleList().repr() == "ModuleList()");
  nn::ModuleList list(nn::ReLU(), nn::ReLU(), nn::Linear({2, 3}));
  CHECK(list.repr() ==
        "ModuleList(\n"
        "  (0-1): 2 x ReLU()\n"
        "  (2): Linear(in_features=2, out_features=3, bias=True)\n"
        ")");
  nn::ModuleList blocks(nn::Sequential(nn::ReLU()), nn::Sequential(nn::ReLU()), nullptr);
  CHECK(blocks.repr() ==
        "ModuleList(\n"
        "  (0-1): 2 x Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        "  (2): None\n"
        ")");
  auto ring = nn::make<nn::ModuleList>();
  ring->append(ring);
  CHECK(ring->repr() == "ModuleList(\n  (0): ModuleList(...)\n)");
  ring->pop();
}

TEST_CASE("module dict: keeps the order, takes any key", "[M45][M1]") {
  nn::ModuleDict dict{{"type", nn::ReLU()}, {"to", nn::Linear({2, 3})}, {"keys", nn::Tanh()}};
  CHECK(dict.keys() == Names{"type", "to", "keys"});
  CHECK(dict.size() == 3);
  CHECK(dict.contains("to"));
  CHECK_FALSE(dict.contains("from"));
  CHECK_THROWS_MATCHES(dict["from"], KeyError, MessageMatches(ContainsSubstring("from")));
  CHECK_THROWS_AS(dict.set("a.b", nn::ReLU()), KeyError);
  CHECK_THROWS_AS(dict.set("", nn::ReLU()), KeyError);
  CHECK(dict.get<nn::Linear>("to")->options.in_features == 2);
  CHECK_THROWS_AS(dict.get<nn::Linear>("type"), TypeError);
  dict.set("type", nn::Sigmoid());
  CHECK(dict.keys() == Names{"type", "to", "keys"});
  CHECK(dict.repr() ==
        "ModuleDict(\n"
        "  (type): Sigmoid()\n"
        "  (to): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (keys): Tanh()\n"
        ")");

  CHECK_THROWS_AS(dict.update({{"new", nn::ReLU()}, {"", nn::ReLU()}}), KeyError);
  CHECK_FALSE(dict.contains("new"));
  nn::ModuleDict other{{"keys", nn::ReLU()}, {"more", nullptr}};
  dict.update(other);
  CHECK(dict.keys() == Names{"type", "to", "keys", "more"});
  CHECK(dict["keys"] == other["keys"]);
  CHECK(dict.values().size() == 4);
  CHECK(dict.items()[3].first == "more");
  CHECK(names(dict.named_children()) == Names{"type", "to", "keys"});
  CHECK(dict.pop("to")->class_name() == "Linear");
  CHECK_THROWS_AS(dict.pop("to"), KeyError);
  dict.erase("more");
  CHECK(dict.keys() == Names{"type", "keys"});
  dict.clear();
  CHECK(dict.empty());
  CHECK(dict.repr() == "ModuleDict()");
}

TEST_CASE("parameter list: tensors become parameters", "[M46]") {
  Tensor x = leaf({1, 2}), computed = x * 2;
  nn::ParameterList list(computed, x, x);
  CHECK(names(list.named_parameters()) == Names{"0", "1", "2"});
  for (const nn::Parameter& p : list) {
    CHECK(p.is_leaf());
    CHECK(p.requires_grad());
  }
  CHECK(list[0].storage() == computed.storage());
  CHECK_FALSE(list[1].is_same(list[2]));
  CHECK(list[1].storage() == list[2].storage());
  CHECK_THROWS_AS(list.append(zeros({2}, {.dtype = kInt64})), TypeError);
  CHECK_THROWS_AS(list.extend({x, zeros({2}, {.dtype = kInt64})}), TypeError);
  CHECK(list.size() == 3);

  nn::Parameter own(ones({1}));
  list.append(own).append({});
  CHECK(list[3].is_same(own));
  CHECK_FALSE(list[-1].defined());
  CHECK(list.parameters().size() == 4);
  CHECK(list.state_dict().keys() == Names{"0", "1", "2", "3"});
  CHECK_THROWS_AS(list[5], IndexError);
  CHECK_THROWS_AS(list.set(-6, x), IndexError);
  list.set(0, ones({3}));
  CHECK(list[0].numel() == 3);
  nn::ParameterList part = list.slice(-2);
  CHECK(part.size() == 2);
  CHECK(part[0].is_same(own));
  part += list;
  part += std::vector<Tensor>{x};
  CHECK(part.size() == 8);
}

TEST_CASE("parameter dict: as Python's dictionaries", "[M46][M1]") {
  Tensor x = leaf({1, 2});
  nn::ParameterDict dict{{"type", x}, {"to", x * 2}};
  CHECK(dict.keys() == Names{"type", "to"});
  CHECK(dict["to"].is_leaf());
  CHECK(dict["to"].to_vector() == std::vector<double>{2, 4});
  CHECK(dict["type"].storage() == x.storage());
  CHECK_THROWS_AS(dict["none"], KeyError);
  CHECK_THROWS_AS(dict.set("n", zeros({2}, {.dtype = kInt64})), TypeError);
  CHECK_THROWS_AS(dict.set("a.b", x), KeyError);

  CHECK_FALSE(dict.get("none").defined());
  CHECK(dict.get("none", x).is_same(x));
  CHECK(dict.get("to", x).is_same(dict["to"]));
  CHECK(dict.setdefault("to", x).is_same(dict["to"]));
  CHECK(dict.setdefault("new", x).storage() == x.storage());
  CHECK_FALSE(dict.setdefault("null").defined());
  CHECK(dict.contains("null"));
  CHECK(dict.popitem().first == "null");
  nn::Parameter to = dict["to"];
  CHECK(dict.pop("to").is_same(to));
  CHECK_THROWS_AS(dict.pop("to"), KeyError);
  CHECK(dict.size() == 2);

  nn::ParameterDict copy = dict;
  copy.set("copy", ones({1}));
  CHECK(copy["type"].is_same(dict["type"]));
  CHECK_FALSE(dict.contains("copy"));
  nn::ParameterDict other{{"type", ones({3})}, {"last", ones({1})}};
  nn::ParameterDict both = dict | other;
  CHECK(both.keys() == Names{"type", "new", "last"});
  CHECK(both["type"].is_same(other["type"]));
  CHECK(dict["type"].numel() == 2);
  dict |= other;
  CHECK(dict.keys() == both.keys());
  CHECK_THROWS_AS(dict.update({{"ok", x}, {"bad", zeros({1}, {.dtype = kInt64})}}), TypeError);
  CHECK_FALSE(dict.contains("ok"));

  nn::ParameterDict same = nn::ParameterDict::fromkeys({"a", "b"}, x);
  CHECK(same["a"].storage() == same["b"].storage());
  CHECK_FALSE(same["a"].is_same(same["b"]));
  CHECK(nn::ParameterDict::fromkeys({"a"}).parameters().empty());
  CHECK(same.values().size() == 2);
  CHECK(same.items()[1].first == "b");
  same.clear();
  CHECK(same.empty());
  CHECK_THROWS_AS(same.popitem(), KeyError);
}

TEST_CASE("parameter containers: printed", "[M43][M46]") {
  nn::ParameterList list(ones({2, 3}), Tensor(ones({1}, {.dtype = kFloat64})));
  list.append({});
  CHECK(list.repr() ==
        "ParameterList(\n"
        "    (0): Parameter containing: [float32 of size 2x3]\n"
        "    (1): Parameter containing: [float64 of size 1]\n"
        "    (2): None\n"
        ")");
  CHECK(nn::ParameterDict({{"a", ones({2})}}).repr() ==
        "ParameterDict(  (a): Parameter containing: [float32 of size 2])");
  CHECK(nn::ParameterDict().repr() == "ParameterDict()");
}

TEST_CASE("containers: in a module, nested, saved, converted, cloned",
          "[M45][M46][M26][M39][M42]") {
  Tower tower;
  Tensor x = ones({1, 2});
  CHECK(tower.state_dict().keys() == Names{"layers.0.weight", "layers.0.bias", "layers.2.weight",
                                           "layers.2.bias", "heads.type.weight", "heads.type.bias",
                                           "heads.keys.weight", "heads.keys.bias", "gains.0",
                                           "gains.1", "shifts.to"});
  Tensor y = tower(x);
  Ref<Tower> copy = nn::clone(tower);
  CHECK(bitwise_equal(copy(x), y));
  CHECK_FALSE(copy->gains[0].storage() == tower.gains[0].storage());
  CHECK_FALSE(copy->layers[0] == tower.layers[0]);
  Tower other;
  other.load_state_dict(tower.state_dict());
  CHECK(bitwise_equal(other(x), y));
  Tensor gain = tower.gains[0];
  tower.double_();
  CHECK(tower.gains[0].is_same(gain));
  CHECK(tower.shifts["to"].dtype() == kFloat64);
  CHECK(tower(x.to(kFloat64)).dtype() == kFloat64);

  nn::ModuleDict nested{{"a", nn::ModuleList(nn::Sequential(nn::Linear({1, 1, false})),
                                             nn::ParameterList(ones({1})))},
                        {"b", nn::ModuleDict({{"c", nn::ParameterDict({{"d", ones({1})}})}})}};
  CHECK(nested.state_dict().keys() == Names{"a.0.0.weight", "a.1.0", "b.c.d"});
  CHECK(nested.get_parameter("b.c.d").item() == 1);
  nested.train(false);
  CHECK_FALSE(nested.get_submodule("b.c").training());
}

}  // namespace farro::test
