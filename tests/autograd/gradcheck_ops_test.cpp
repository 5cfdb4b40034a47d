#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include <autograd/golden_ops.hpp>
#include <autograd/operations.hpp>
#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/record.hpp>

/// Every operation, each with every kind of tensor, on every device: gradient checks, and forward
/// against reverse mode.

using namespace farro;
using namespace farro::test;

namespace {

/// What is wrong with the gradients of a sample; empty if nothing is. The slow and the fast check,
/// each of reverse and forward mode.
std::string fault_of(const Operation& operation, Kind kind, Device device, bool twice) {
  try {
    Sample sample = make_sample(operation, kind, device);
    for (bool fast : {false, true}) {
      GradcheckOptions options{.eps = operation.eps, .check_forward_ad = true, .fast_mode = fast};
      bool passed = twice ? gradgradcheck(sample.f, sample.inputs, options)
                          : gradcheck(sample.f, sample.inputs, options);
      if (!passed) return "false without an exception";
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Checks all samples of all operations of a list. What the list leaves out must fail.
void check_all(const std::vector<Operation>& operations) {
  int passed[2] = {}, expected[2] = {}, skipped[2] = {};
  for_each_device([&](Device device) {
    for (const Operation& operation : operations) {
      for (Kind kind : kKinds) {
        for (int twice : {0, 1}) {
          INFO((twice ? "gradgradcheck of " : "gradcheck of ")
               << operation.name << ", " << name_of(kind) << " on " << device.str());
          std::string fault = fault_of(operation, kind, device, twice != 0);
          const Skip* skip = operation.skipped(kind);
          if (skip && (twice || !skip->only_twice)) {
            INFO("left out, since it " << skip->reason);
            CHECK(fault != "");
            ++skipped[twice];
          } else {
            CHECK(fault == "");
            ++expected[twice];
            passed[twice] += fault == "";
          }
        }
      }
    }
  });
  CHECK(passed[0] == expected[0]);
  CHECK(passed[1] == expected[1]);
  WARN(fmt::format(
      "{} operations: {} samples pass gradcheck and {} gradgradcheck; {} and {} are left out",
      operations.size(), passed[0], passed[1], skipped[0], skipped[1]));
}

/// The sum of the products of two lists' elements; an undefined tensor counts as zeros.
double inner(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double total = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!a[k].defined() || !b[k].defined()) continue;
    std::vector<double> x = a[k].to_vector(), y = b[k].to_vector();
    for (size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
  }
  return total;
}

/// Forward and reverse mode are each other's transpose: <J v, u> = <v, Jᵀ u> for random v and u.
void check_transposed(const char* name, const TensorFunction& f, const Inputs& inputs,
                      int directions, double tolerance) {
  INFO(name << " of " << to_string(inputs[0].sizes()) << " on " << inputs[0].device().str());
  auto like = [](const Inputs& tensors, uint64_t seed) {
    Inputs result;
    for (const Tensor& t : tensors) {
      bool real = t.defined() && t.is_floating_point();
      result.push_back(real ? random(t.sizes(), {.dtype = t.dtype(), .device = t.device()}, seed++)
                            : Tensor());
    }
    return result;
  };
  for (int i = 0; i < directions; ++i) {
    auto seed = static_cast<uint64_t>(1000 + 20 * i);
    Inputs v = like(inputs, seed);
    auto [y, change] = jvp([&](const Inputs& x) { return f(x); }, inputs, v);
    Inputs u = like(y, seed + 10);
    for (size_t k = 0; k < u.size(); ++k) {
      if (!u[k].defined()) u[k] = zeros_like(y[k]);
    }
    Inputs gradients = vjp([&](const Inputs& x) { return f(x); }, inputs, u).second;
    double forward = inner(change, u), backward = inner(gradients, v);
    double scale = std::max({1.0, std::abs(forward), std::abs(backward)});
    if (!(std::abs(forward - backward) <= tolerance * scale)) {
      FAIL_CHECK("direction " << i << ": <J v, u> is " << forward << ", <v, J^T u> is "
                              << backward);
      return;
    }
  }
}

/// Irregular operations that take one matrix of any size.
std::vector<Operation> operations_of_one_matrix() {
  std::vector<Operation> list;
  for (auto make : {shape_operations, index_operations, reduce_operations, product_operations}) {
    for (Operation& operation : make()) {
      if (operation.operands.size() == 1) list.push_back(std::move(operation));
    }
  }
  return list;
}

}  // namespace

TEST_CASE("forward and reverse mode agree in 10,000 random directions over every operation",
          "[A24][A8]") {
  constexpr int kDirections = 16;
  int total = 0;
  for_each_device([&](Device device) {
    for (const Operation& operation : all_operations()) {
      for (Kind kind : {Kind::Odd, Kind::Broadcast, Kind::LayoutLeft}) {
        Sample sample = make_sample(operation, kind, device);
        double tolerance = operation.eps > 1e-6 ? 1e-6 : 1e-9;  // what is rounded to float32
        check_transposed(operation.name.c_str(), sample.f, sample.inputs, kDirections, tolerance);
        total += kDirections;
      }
    }
  });
  CHECK(total >= 5'000 * static_cast<int64_t>(devices().size()));
}

TEST_CASE("gradient checks are counted: at least 800 samples for each device, and 400 twice",
          "[A8][A19][A25][A26]") {
  std::vector<Operation> operations = all_operations();
  std::set<std::string> names;
  int once = 0, twice = 0;
  for (const Operation& operation : operations) {
    INFO(operation.name);
    CHECK(names.insert(operation.name).second);
    for (Kind kind : kKinds) {
      const Skip* skip = operation.skipped(kind);
      if (skip) CHECK(std::string_view(skip->reason).size() > 10);
      once += !skip || skip->only_twice;
      twice += !skip;
    }
  }
  static_assert(kKinds.size() >= 8);
  CHECK(once >= 800);  // 1,600 on Serial and OpenMP
  CHECK(twice >= 400);
  WARN(fmt::format(
      "{} operations: {} samples for gradcheck and {} for gradgradcheck on each of {} devices",
      operations.size(), once, twice, devices().size()));
}

TEST_CASE("operations take matrices of empty rows, but for those that name an entry of a row",
          "[A8][A19]") {
  std::set<std::string> refused;
  for (const Operation& operation : all_operations()) {
    if (operation.operands.size() != 1 || operation.operands[0].empty != Dims{0, 3}) continue;
    for_each_device([&](Device device) {
      Inputs x{random({2, 0}, {.device = device, .requires_grad = true})};
      INFO(operation.name << " on " << device.str());
      try {
        operation.f(x);
      } catch (const Error&) {
        refused.insert(operation.name);
        return;
      }
      CHECK(gradcheck(operation.f, x, {.check_forward_ad = true}));
    });
  }
  CHECK(refused == std::set<std::string>{"amax", "amin", "as_strided that overlaps",
                                         "cross_entropy", "cross_entropy of each row",
                                         "cross_entropy with smoothed labels", "max",
                                         "max along a dimension", "maximum norm", "min", "narrow",
                                         "nll_loss", "split into sizes", "take_along_dim"});
}

TEST_CASE("every node that the operations' sources name is reached by the table of operations",
          "[A8]") {
  std::set<std::string> named, reached;
  std::regex node("\"([A-Z][A-Za-z0-9]*Backward[A-Za-z]*)\"");
  for (const auto& file :
       std::filesystem::directory_iterator(FARRO_GOLDEN_DIR "/../../autograd/ops")) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream stream(file.path());
    std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::sregex_iterator match(text.begin(), text.end(), node), end; match != end; ++match)
      named.insert((*match)[1]);
  }
  CHECK(named.size() > 50);
  auto note = [&](const Inputs& outputs) {
    std::vector<autograd::Edge> edges;
    for (const Tensor& y : outputs) {
      if (y.defined() && y.requires_grad()) edges.push_back(autograd::gradient_edge(y));
    }
    for (const autograd::Node* reachable : autograd::reachable(edges))
      reached.insert(reachable->name());
  };
  for (const Operation& operation : all_operations()) {
    Sample sample = make_sample(operation, Kind::Odd, host_device());
    Inputs outputs = sample.f(sample.inputs), inputs = sample.inputs, cotangents;
    std::erase_if(outputs, [](const Tensor& y) { return !y.requires_grad(); });
    std::erase_if(inputs, [](const Tensor& x) { return !x.requires_grad(); });
    for (const Tensor& y : outputs)
      cotangents.push_back(random(y.sizes(), {.device = y.device(), .requires_grad = true}));
    note(outputs);
    Inputs gradients =
        grad(outputs, inputs, {.create_graph = true, .allow_unused = true}, cotangents);
    note(gradients);
    std::erase_if(gradients, [](const Tensor& g) { return !g.defined() || !g.requires_grad(); });
    if (gradients.empty()) continue;
    Inputs ones;
    for (const Tensor& g : gradients) ones.push_back(ones_like(g));
    inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
    note(grad(gradients, inputs, {.create_graph = true, .allow_unused = true}, ones));
  }
  std::string missing;
  for (const std::string& name : named) {
    if (!reached.contains(name)) missing += name + " ";
  }
  CHECK(missing == "");
}

TEST_CASE("gradcheck and gradgradcheck of every pointwise operation", "[A8][A19][A25][A26]") {
  check_all(pointwise_operations());
}

TEST_CASE("gradcheck and gradgradcheck of every operation on shapes", "[A8][A19][A25][A26]") {
  check_all(shape_operations());
}

TEST_CASE("gradcheck and gradgradcheck of every operation on indices", "[A8][A19][A25][A26]") {
  check_all(index_operations());
}

TEST_CASE("gradcheck and gradgradcheck of every reduction, scan and loss", "[A8][A19][A25][A26]") {
  check_all(reduce_operations());
}

TEST_CASE("gradcheck and gradgradcheck of every product", "[A8][A19][A25][A26]") {
  check_all(product_operations());
}

TEST_CASE("gradcheck and gradgradcheck of every convolution, pool and normalisation",
          "[A8][A19][A25][A26]") {
  check_all(layer_operations());
}

TEST_CASE("gradients of PyTorch's sample inputs match finite differences, once and twice",
          "[A8][golden][slow]") {
  for_each_device([](Device device) {
    int checked = 0, twice = 0;
    for_each_case(
        [&](const OpEntry& entry, const GoldenFile& file, size_t i, const std::string& name) {
          Case c = file.read(i, device);
          Inputs inputs = inputs_with_grad(c);
          int64_t in = 0, out = 0;
          for (const Tensor& t : inputs) in += t.numel();
          for (const Tensor& t : flatten(c["output"])) out += t.numel();
          if (inputs.empty() || !c.has("cotangents") || in * out > 40'000) return;
          // Moving the inputs' elements moves those that the function reads from the case.
          TensorFunction f = [&](const Inputs&) { return flatten(entry.function(Call(c))); };
          INFO(name << " on " << device.str());
          try {
            bool once = gradcheck(f, inputs);
            CHECK(once);
            ++checked;
            if (in * (in + out) > 10'000) return;
            bool again = gradgradcheck(f, inputs);
            CHECK(again);
            ++twice;
          } catch (const Unsupported&) {
            throw;
          } catch (const std::exception& error) {
            FAIL_CHECK(error.what());
          }
        });
    WARN(fmt::format("{} cases once, {} twice on {}", checked, twice, device.str()));
  });
}

TEST_CASE("irregular operations have the same bits on Serial and OpenMP", "[bits][A20]") {
  auto [serial, openmp] = serial_and_openmp();
  for (const Operation& op : operations_of_one_matrix()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      // Large enough for kernels that fork.
      auto hashes = [&](Device device) {
        Tensor x = random({160, 257}, {.dtype = dtype, .device = device, .requires_grad = true}, 5,
                          0.2, 1.5);
        Inputs outputs = op.f({x});
        std::erase_if(outputs, [](const Tensor& t) { return !t.requires_grad(); });
        std::vector<uint64_t> list;
        Inputs cotangents;
        for (const Tensor& y : outputs) {
          list.push_back(hash(y));
          cotangents.push_back(random(y.sizes(), {.dtype = dtype, .device = device}, 6));
        }
        list.push_back(hash(grad(outputs, {x}, {}, cotangents)[0]));
        return list;
      };
      INFO(op.name << " of " << name_of(dtype));
      CHECK(hashes(serial) == hashes(openmp));
    }
  }
}
