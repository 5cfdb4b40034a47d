#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <map>
#include <memory>
#include <tuple>

#include <support/compare.hpp>
#include <support/golden.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>
#include <farro/optim/adam.hpp>
#include <farro/optim/sgd.hpp>

using namespace farro;

namespace {

/// Options of type O from the keyword arguments of a golden case.
template <class O>
O options_of(const test::Value& kwargs) {
  O options;
  for (const auto& [name, value] : kwargs.map()) {
    bool known = false;
    for_each_field(options, [&](std::string_view field, auto& member) {
      if (field != name) return;
      known = true;
      if constexpr (std::is_same_v<decltype(member), bool&>) {
        member = value.boolean();
      } else if constexpr (std::is_same_v<decltype(member), double&>) {
        member = value.number();
      } else {
        member = {value.list()[0].number(), value.list()[1].number()};
      }
    });
    INFO(name);
    REQUIRE(known);
  }
  return options;
}

std::unique_ptr<optim::Optimizer> make(const std::string& name, const optim::Parameters& params,
                                       const test::Value& kwargs) {
  if (name == "SGD")
    return std::make_unique<optim::SGD>(params, options_of<optim::SGDOptions>(kwargs));
  if (name == "Adam")
    return std::make_unique<optim::Adam>(params, options_of<optim::AdamOptions>(kwargs));
  return std::make_unique<optim::AdamW>(params, options_of<optim::AdamWOptions>(kwargs));
}

/// Parameters whose gradients at a step are fixed numbers; sizes around the edges of packs, chunks
/// and blocks.
struct Toy {
  std::vector<Tensor> params;
  DType dtype;
  Device device;
  Toy(DType dtype_, Device device_,
      std::vector<int64_t> lengths = {1, 5, 17, 1023, 1025, 16384, 40001})
      : dtype(dtype_), device(device_) {
    uint64_t seed = 100;
    for (int64_t n : lengths) {
      params.push_back(test::random({n}, {}, seed++).to(device, dtype).detach().requires_grad_());
    }
  }
  void set_grads(int step) const {
    uint64_t seed = 1000 * static_cast<uint64_t>(step + 1);
    for (const Tensor& p : params)
      p.set_grad(test::random(p.sizes(), {}, seed++).to(device, dtype));
  }
  template <class Optimizer>
  void run(Optimizer& optimizer, int steps, int first = 0) const {
    for (int step = first; step < first + steps; ++step) {
      set_grads(step);
      optimizer.step();
    }
  }
};

const optim::SGDOptions kSgd{.lr = 0.1, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01};
const optim::AdamOptions kAdam{.lr = 0.01, .weight_decay = 0.1, .amsgrad = true};
const optim::AdamWOptions kAdamW{.lr = 0.01, .weight_decay = 0.1};

template <class Optimizer>
auto options_for() {
  if constexpr (std::is_same_v<Optimizer, optim::SGD>) return kSgd;
  if constexpr (std::is_same_v<Optimizer, optim::Adam>) return kAdam;
  if constexpr (std::is_same_v<Optimizer, optim::AdamW>) return kAdamW;
}

}  // namespace

TEST_CASE("optimizers: PyTorch's numbers on every device") {
  test::for_each_device([](Device device) {
    for (const char* name : {"SGD", "Adam", "AdamW"}) {
      test::GoldenFile file(test::golden_dir() + "/optim/" + name);
      for (size_t i = 0; i < file.size(); ++i) {
        INFO(file.case_name(i) << " on " << device.str());
        test::Case golden = file.read(i, device);
        optim::Parameters params;
        for (const test::Value& key : golden["params"].list()) {
          params.push_back(file.tensor(key.text(), device).clone().detach().requires_grad_());
        }
        auto optimizer = make(name, params, golden["kwargs"]);
        for (int64_t step = 0; step < golden["steps"].integer(); ++step) {
          for (size_t j = 0; j < params.size(); ++j) {
            params[j].set_grad(
                file.tensor(fmt::format("{}.g{}.{}", golden["key"].text(), step, j), device));
          }
          optimizer->step();
          for (size_t j = 0; j < params.size(); ++j) {
            Tensor expected =
                file.tensor(fmt::format("{}.after{}.{}", golden["key"].text(), step, j), device);
            CHECK(test::difference(params[j].detach(), expected, {1e-12, 1e-14}) == "");
          }
        }
      }
    }
  });
}

TEMPLATE_TEST_CASE("optimizers: Serial, OpenMP and the plain kernels give the same bits",
                   "[bits][A20]", optim::SGD, optim::Adam, optim::AdamW) {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
    INFO(name_of(dtype));
    Toy first(dtype, test::host_device());
    TestType reference(first.params, options_for<TestType>());
    first.run(reference, 3);
    auto compare = [&](const Toy& other) {
      for (size_t i = 0; i < first.params.size(); ++i) {
        CHECK(test::bitwise_equal(first.params[i].detach(), other.params[i].detach()));
      }
    };

    Toy parallel(dtype, Device());
    TestType other(parallel.params, options_for<TestType>());
    parallel.run(other, 3);
    compare(parallel);

    Toy plain(dtype, test::host_device());
    TestType elementwise(plain.params, options_for<TestType>());
    {
      ReferenceKernels scope;
      plain.run(elementwise, 3);
    }
    compare(plain);
  }
}

TEMPLATE_TEST_CASE("optimizers: 16-bit parameters follow the float32 ones to their rounding", "",
                   optim::SGD, optim::Adam, optim::AdamW) {
  Toy wide(kFloat32, test::host_device(), {100}), narrow(kBFloat16, test::host_device(), {100});
  TestType a(wide.params, options_for<TestType>()), b(narrow.params, options_for<TestType>());
  wide.run(a, 1);
  narrow.run(b, 1);
  CHECK(test::difference(narrow.params[0].detach().to(kFloat64),
                         wide.params[0].detach().to(kFloat64), {0.02, 0.01}) == "");
  for (const auto& [name, tensor] : b.state_dict()) {
    if (name.find("exp_avg") != std::string::npos) CHECK(tensor.dtype() == kFloat32);
  }
}

TEMPLATE_TEST_CASE("optimizers: a state loaded into another one continues bit for bit", "",
                   optim::SGD, optim::Adam, optim::AdamW) {
  Toy toy(kFloat32, test::host_device(), {3, 40});
  TestType optimizer(toy.params, options_for<TestType>());
  toy.run(optimizer, 2);

  Toy copy(kFloat32, test::host_device(), {3, 40});
  for (size_t i = 0; i < 2; ++i) copy.params[i].detach().copy_(toy.params[i].detach());
  TestType resumed(copy.params, {});
  resumed.load_state_dict(optimizer.state_dict());
  CHECK(resumed.options().lr == options_for<TestType>().lr);
  toy.run(optimizer, 2, 2);
  copy.run(resumed, 2, 2);

  for (size_t i = 0; i < 2; ++i)
    CHECK(test::bitwise_equal(toy.params[i].detach(), copy.params[i].detach()));
}

TEST_CASE("optimizers: a state that does not fit is refused and changes nothing") {
  Toy toy(kFloat32, test::host_device(), {3, 4});
  optim::Adam adam(toy.params, {.lr = 0.5});
  toy.run(adam, 1);
  optim::StateDict good = adam.state_dict();
  optim::Adam fresh(toy.params, {.lr = 0.25});
  auto with = [&](const std::string& name, std::optional<Tensor> tensor) {
    optim::StateDict changed;
    bool found = false;
    for (const auto& [key, value] : good) {
      found |= key == name;
      if (key != name)
        changed.emplace_back(key, value);
      else if (tensor)
        changed.emplace_back(key, *tensor);
    }
    if (!found) changed.emplace_back(name, *tensor);
    return changed;
  };

  CHECK_THROWS_AS(fresh.load_state_dict(with("state.0.exp_avg", zeros({4}))), ShapeError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("state.0.velocity", zeros({3}))), KeyError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("state.2.exp_avg", zeros({3}))), KeyError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("state.0.step", tensor(-1))), ValueError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("nonsense", zeros({3}))), KeyError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.0.lr", {})), KeyError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.0.lr", tensor(-1.0))), ValueError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.0.betas", tensor(0.5))), ShapeError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.0.speed", tensor(0.5))), KeyError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.0.params", tensor({0}))), ValueError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.0.params", {})), KeyError);
  CHECK_THROWS_AS(fresh.load_state_dict(with("param_groups.1.lr", tensor(0.5))), KeyError);
  CHECK(fresh.options().lr == 0.25);
  CHECK(fresh.state_dict().size() == 7);
  CHECK_NOTHROW(fresh.load_state_dict(good));
}

TEST_CASE("optimizers: groups have options of their own") {
  Tensor a = test::from_values({1, 1}, {.requires_grad = true}),
         b = test::from_values({1, 1}, {.requires_grad = true});
  optim::SGD sgd({{{a}, {.lr = 0.5}}, {{b}, {.lr = 0.25}}});
  a.set_grad(test::from_values({1, 2}));
  b.set_grad(test::from_values({1, 2}));
  sgd.step();
  CHECK(a.to_vector() == std::vector<double>{0.5, 0});
  CHECK(b.to_vector() == std::vector<double>{0.75, 0.5});
  sgd.options(1).lr = 1;
  sgd.step();
  CHECK(b.to_vector() == std::vector<double>{-0.25, -1.5});
}

TEST_CASE("optimizers: parameters without a gradient stay, others bump their version") {
  Tensor a = test::from_values({1}, {.requires_grad = true}),
         b = test::from_values({1}, {.requires_grad = true});
  optim::Adam adam({a, b});
  a.set_grad(test::from_values({1}));
  uint32_t before_a = a.version(), before_b = b.version();
  adam.step();
  CHECK(a.version() > before_a);
  CHECK(b.version() == before_b);
  CHECK(b.to_vector() == std::vector<double>{1});
}

TEST_CASE("optimizers: zero_grad drops gradients or fills them with zeros") {
  Tensor a = test::from_values({1, 2}, {.requires_grad = true});
  optim::SGD sgd({a});
  a.set_grad(test::from_values({3, 4}));
  Tensor grad = a.grad();
  sgd.zero_grad(false);
  CHECK(a.grad().is_same(grad));
  CHECK(grad.to_vector() == std::vector<double>{0, 0});
  sgd.zero_grad();
  CHECK_FALSE(a.grad().defined());
}

TEST_CASE("optimizers: strided parameters and gradients are updated as contiguous ones") {
  Tensor plain = test::random({3, 4}, {.requires_grad = true});
  Tensor strided = test::with_strides(plain.detach(), {1, 3}).requires_grad_();
  Tensor grad = test::random({4, 3}, {}, 9);
  optim::Adam a({plain}), b({strided});
  for (int i = 0; i < 2; ++i) {
    plain.set_grad(grad.transpose(0, 1).contiguous());
    strided.set_grad(grad.transpose(0, 1));
    a.step();
    b.step();
  }
  CHECK(test::bitwise_equal(plain.detach(), strided.detach()));
}

TEST_CASE("optimizers: bad parameters and options are refused") {
  Tensor a = test::from_values({1}, {.requires_grad = true});
  CHECK_THROWS_AS(optim::SGD(optim::Parameters{}), ValueError);
  CHECK_THROWS_AS(optim::SGD({a, a}), ValueError);
  CHECK_THROWS_AS(optim::SGD({Tensor()}), ValueError);
  CHECK_THROWS_AS(optim::SGD({tensor({1, 2})}), TypeError);
  CHECK_THROWS_AS(optim::SGD({a}, {.lr = -1}), ValueError);
  CHECK_THROWS_AS(optim::SGD({a}, {.nesterov = true}), ValueError);
  CHECK_THROWS_AS(optim::SGD({a}, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}),
                  ValueError);
  CHECK_THROWS_AS(optim::Adam({a}, {.betas = {0.9, 1.0}}), ValueError);
  CHECK_THROWS_AS(optim::Adam({a}, {.eps = -1}), ValueError);
  CHECK_THROWS_AS(optim::AdamW({a}, {.weight_decay = -1}), ValueError);
  optim::SGD sgd({a});
  CHECK_THROWS_AS(sgd.add_param_group({{a}, {}}), ValueError);
}

TEMPLATE_TEST_CASE("optimizers: a steady step asks the system for no memory", "", optim::SGD,
                   optim::Adam, optim::AdamW) {
  Toy toy(kFloat32, test::host_device(), {3, 5000});
  TestType optimizer(toy.params, options_for<TestType>());
  toy.run(optimizer, 2);
  toy.set_grads(2);
  MemoryStats before = memory_stats();
  optimizer.step();
  MemoryStats after = memory_stats();
  CHECK(after.allocations == before.allocations);
  CHECK(after.system_allocations == before.system_allocations);
}
