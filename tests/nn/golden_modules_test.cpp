#include <catch2/catch_test_macros.hpp>

#include <set>

#include <support/compare.hpp>
#include <support/golden.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/nn/nn.hpp>

/// Runs golden/modules: each layer that there is here, made from PyTorch's constructor arguments,
/// with its state.
namespace farro::test {
namespace {

hooks::Value to_hooks(const Value& value) {
  if (value.is<bool>()) return value.boolean();
  if (value.is<int64_t>()) return value.integer();
  if (value.is<double>()) return value.number();
  if (value.is<std::string>()) return value.text();
  if (value.is<Tensor>()) return value.tensor();
  if (value.is<DType>()) return std::string(name_of(value.as<DType>()));
  if (value.is<Device>()) return value.as<Device>().str();
  if (value.is<List>()) {
    hooks::List list;
    for (const Value& entry : value.list()) list.push_back(to_hooks(entry));
    return hooks::Value(std::move(list));
  }
  if (value.is<Map>()) {
    hooks::Map map;
    for (const auto& [name, entry] : value.map()) map.emplace_back(name, to_hooks(entry));
    return hooks::Value(std::move(map));
  }
  if (value.is_null()) return {};
  throw Unsupported("a value that options can't hold");
}

using Maker = std::function<std::shared_ptr<nn::Module>(const hooks::Map&)>;

template <class M>
std::pair<std::string, Maker> maker(const char* name) {
  return {name, [](const hooks::Map& arguments) -> std::shared_ptr<nn::Module> {
            if constexpr (requires { typename M::Options; }) {
              return std::make_shared<M>(
                  hooks::from_value<typename M::Options>(hooks::Value(arguments)));
            } else {
              return std::make_shared<M>();
            }
          }};
}

#define LAYER(name) maker<nn::name>(#name)
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> map = {LAYER(AvgPool1d),
                                                   LAYER(AvgPool2d),
                                                   LAYER(AvgPool3d),
                                                   LAYER(BatchNorm1d),
                                                   LAYER(BatchNorm2d),
                                                   LAYER(BatchNorm3d),
                                                   LAYER(CELU),
                                                   LAYER(Conv1d),
                                                   LAYER(Conv2d),
                                                   LAYER(Conv3d),
                                                   LAYER(CrossEntropyLoss),
                                                   LAYER(ELU),
                                                   LAYER(GELU),
                                                   LAYER(GroupNorm),
                                                   LAYER(Hardshrink),
                                                   LAYER(Hardswish),
                                                   LAYER(Hardtanh),
                                                   LAYER(L1Loss),
                                                   LAYER(LayerNorm),
                                                   LAYER(LazyConv1d),
                                                   LAYER(LazyConv2d),
                                                   LAYER(LazyConv3d),
                                                   LAYER(LeakyReLU),
                                                   LAYER(Linear),
                                                   LAYER(LogSigmoid),
                                                   LAYER(LogSoftmax),
                                                   LAYER(MSELoss),
                                                   LAYER(MaxPool1d),
                                                   LAYER(MaxPool2d),
                                                   LAYER(MaxPool3d),
                                                   LAYER(Mish),
                                                   LAYER(NLLLoss),
                                                   LAYER(PReLU),
                                                   LAYER(ReLU),
                                                   LAYER(ReLU6),
                                                   LAYER(SELU),
                                                   LAYER(SiLU),
                                                   LAYER(Sigmoid),
                                                   LAYER(Softmax),
                                                   LAYER(Softmin),
                                                   LAYER(Softplus),
                                                   LAYER(Softshrink),
                                                   LAYER(Softsign),
                                                   LAYER(Tanh),
                                                   LAYER(Tanhshrink),
                                                   LAYER(Threshold)};
  return map;
}
#undef LAYER

/// The entries of a part of a case; none where it has no such part.
const Map& entries(const Value& value) {
  static const Map none;
  return value.is_null() ? none : value.map();
}

/// Checks one case; returns what differs.
std::string run(const Case& c) {
  hooks::Map ctor = to_hooks(Value(entries(c["ctor"]))).map();
  bool return_indices = false;
  std::erase_if(ctor, [&](const auto& entry) {
    bool legacy =
        entry.first == "size_average" || entry.first == "reduce";  // superseded by reduction
    if (entry.first == "return_indices") return_indices = entry.second.boolean();
    return legacy || entry.first == "return_indices";
  });
  if (return_indices) throw Unsupported("return_indices");
  std::shared_ptr<nn::Module> module = makers().at(c["module"].text())(ctor);
  Device device;
  for (const auto& [name, value] : entries(c["state_dict"])) device = value.tensor().device();
  for (const char* part : {"forward_args", "forward_kwargs"}) {
    if (!c.has(part)) continue;
    for (const Tensor& t : flatten(c[part])) device = t.device();
  }
  module->to(device, kFloat64).train(c["training"].boolean());
  nn::StateDict state;
  for (const auto& [name, value] : entries(c["state_dict"])) state.append(name, value.tensor());
  state.versions[""] = module->state_version();
  if (module->state_dict().keys() != state.keys()) return "the keys of state_dict";
  module->load_state_dict(state);
  if (module->repr() != c["repr"].text()) return "repr: " + module->repr();

  // Named arguments of forward are positional here.
  hooks::Args args = to_hooks(c["forward_args"]).list();
  for (const auto& [name, value] : entries(c["forward_kwargs"])) args.push_back(to_hooks(value));
  Tensor output = module->call(args).tensor();
  std::string text = difference(output, c["output"].tensor(), {});
  if (!text.empty()) return "output: " + text;
  for (const auto& [name, value] : entries(c["state_after"])) {
    text = difference(module->get_buffer(name), value.tensor(), {});
    if (!text.empty()) return name + " afterwards: " + text;
  }
  if (!output.requires_grad()) return {};
  output.backward(c["cotangents"].list()[0].tensor());
  size_t i = 0;
  std::vector<Tensor> expected = flatten(c["grad_inputs"], true);
  for (const hooks::Value& value : args) {
    if (!value.is_tensor() || !value->requires_grad()) continue;
    Tensor grad = value->grad();
    if (i >= expected.size() || grad.defined() != expected[i].defined())
      return "which inputs have gradients";
    text = grad.defined() ? difference(grad, expected[i], {}) : "";
    if (!text.empty()) return fmt::format("gradient of input {}: {}", i, text);
    ++i;
  }
  for (const auto& [name, value] : entries(c["grad_params"])) {
    Tensor grad = module->get_parameter(name).grad();
    if (grad.defined() != value.tensor().defined()) return "whether " + name + " has a gradient";
    text = grad.defined() ? difference(grad, value.tensor(), {}) : "";
    if (!text.empty()) return "gradient of " + name + ": " + text;
  }
  return {};
}

}  // namespace

TEST_CASE("golden modules: outputs, gradients, states and printed text are PyTorch's",
          "[M26][M33][M43][A19]") {
  std::set<std::string> found;
  size_t cases = 0, unsupported = 0;
  for (const std::string& path : golden_files("modules")) {
    std::string name = path.substr(path.rfind('/') + 1);
    if (!makers().contains(name)) continue;
    found.insert(name);
    GoldenFile file(path);
    for (size_t i = 0; i < file.size(); ++i) {
      for (Device device : devices()) {
        if (!device.is_host()) continue;
        INFO(file.case_name(i) << " on " << device.str());
        try {
          std::string text = run(file.read(i, device));
          CHECK(text == "");
          ++cases;
        } catch (const Unsupported&) {
          ++unsupported;
        } catch (const std::exception& error) {
          FAIL_CHECK(error.what());
        }
      }
    }
  }
  CHECK(found.size() == makers().size());
  WARN(cases << " cases of modules, " << unsupported << " left out");
}

}  // namespace farro::test
