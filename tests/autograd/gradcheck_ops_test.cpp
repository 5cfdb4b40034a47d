#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <autograd/golden_ops.hpp>
#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/loss.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pointwise_list.hpp>
#include <farro/autograd/ops/pool.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/ops/softmax.hpp>

/// Gradient checks of operations that are not in the pointwise lists (those are in
/// pointwise_test.cpp).

using namespace farro;
using namespace farro::test;
using Inputs = std::vector<Tensor>;

namespace {

struct Operation {
  const char* name;
  TensorFunction f;
};

/// Those that take one tensor of any shape of at least one dimension.
std::vector<Operation> of_any_shape() {
  return {
      {"sum", [](const Inputs& x) { return sum(x[0]); }},
      {"sum of a dimension", [](const Inputs& x) { return sum(x[0], {-1}, true); }},
      {"prod", [](const Inputs& x) { return prod(x[0]); }},
      {"prod of a dimension", [](const Inputs& x) { return prod(x[0], -1); }},
      {"logsumexp", [](const Inputs& x) { return logsumexp(x[0], {-1}); }},
      {"cumsum", [](const Inputs& x) { return cumsum(x[0] * x[0], 0); }},
      {"cumprod", [](const Inputs& x) { return cumprod(x[0], -1); }},
      {"softmax", [](const Inputs& x) { return softmax(x[0], -1); }},
      {"softmax of the first dimension", [](const Inputs& x) { return softmax(x[0], 0); }},
      {"log_softmax", [](const Inputs& x) { return log_softmax(x[0], -1); }},
      {"log_softmax of the first dimension", [](const Inputs& x) { return log_softmax(x[0], 0); }},
      {"layer_norm", [](const Inputs& x) { return layer_norm(x[0], x[0].sizes()); }},
      {"clone", [](const Inputs& x) { return clone(x[0] * x[0]); }},
      {"contiguous", [](const Inputs& x) { return contiguous(x[0].transpose(0, -1)); }},
      {"flatten", [](const Inputs& x) { return flatten(x[0]) * flatten(x[0]); }},
      {"transpose", [](const Inputs& x) { return transpose(x[0], 0, -1) * x[0].sum(); }},
      {"slice", [](const Inputs& x) { return slice(x[0], 0, 0, {}, 2); }},
      {"expand",
       [](const Inputs& x) {
         return unsqueeze(x[0], 0).expand({2, -1, -1});
       }},
      {"flip", [](const Inputs& x) { return flip(x[0], {0}); }},
      {"roll", [](const Inputs& x) { return roll(x[0], {1}, {-1}); }},
      {"repeat",
       [](const Inputs& x) {
         return repeat(x[0], {2, 1});
       }},
      {"cat with itself",
       [](const Inputs& x) {
         return cat({x[0], x[0] * x[0]}, -1);
       }},
      {"stack",
       [](const Inputs& x) {
         return stack({x[0], x[0] * x[0]}, 1);
       }},
      {"split", [](const Inputs& x) { return split(x[0], 2, 0); }},
      {"diagonal", [](const Inputs& x) { return diagonal(x[0]); }},
      {"mask", [](const Inputs& x) { return masked_select(x[0], gt(x[0], 0.7)); }},
      {"masked_fill", [](const Inputs& x) { return masked_fill(x[0], gt(x[0], 0.7), 3); }},
      {"tril", [](const Inputs& x) { return tril(x[0]); }},
      {"product with its transpose",
       [](const Inputs& x) { return matmul(x[0], x[0].transpose(0, 1)); }},
  };
}

/// Those that need at least one element.
std::vector<Operation> of_elements() {
  return {
      {"mean", [](const Inputs& x) { return mean(x[0] * x[0]); }},
      {"norm", [](const Inputs& x) { return norm(x[0]); }},
      {"3-norm of a dimension", [](const Inputs& x) { return norm(x[0], 3, {0}); }},
      {"amax", [](const Inputs& x) { return amax(x[0], {-1}); }},
      {"max", [](const Inputs& x) { return max(x[0]); }},
      {"min along a dimension", [](const Inputs& x) { return min(x[0], 0); }},
      {"aminmax", [](const Inputs& x) { return aminmax(x[0], 0); }},
      {"var", [](const Inputs& x) { return var(x[0], {}, 0); }},
      {"std",
       [](const Inputs& x) {
         return farro::std(cat({x[0], x[0] * x[0] + 1}, -1), {-1}, 0.5);
       }},
      {"var_mean", [](const Inputs& x) { return var_mean(x[0], {0}, -1); }},
      {"select", [](const Inputs& x) { return select(x[0], 0, -1); }},
      {"unbind", [](const Inputs& x) { return unbind(x[0], 0); }},
      {"index by a tensor",
       [](const Inputs& x) {
         Tensor rows = from_values({0, -1, 0}, {.dtype = kInt64, .device = x[0].device()});
         return index_select(x[0], 0, rows) * x[0][rows];
       }},
      {"nll_loss",
       [](const Inputs& x) {
         return nll_loss(x[0], zeros({x[0].size(0)}, {.dtype = kInt64, .device = x[0].device()}));
       }},
      {"cross_entropy",
       [](const Inputs& x) {
         return cross_entropy(x[0],
                              zeros({x[0].size(0)}, {.dtype = kInt64, .device = x[0].device()}), {},
                              -100, Reduction::Sum, 0.1);
       }},
      {"mse_loss", [](const Inputs& x) { return mse_loss(x[0], flip(x[0], {0}) * 2); }},
  };
}

/// Matrices of several shapes and layouts.
std::vector<Tensor> matrices(Device device, bool with_empty) {
  auto make = [&](const Dims& sizes) {
    return random(sizes, {.device = device, .requires_grad = true}, 5, 0.2, 1.5);
  };
  std::vector<Tensor> list = {make({1, 1}), make({1, 5}), make({3, 4}),
                              with_strides(make({3, 4}), {1, 3}),
                              with_strides(make({4, 3}), {12, 2})};
  if (with_empty) {
    list.push_back(make({0, 3}));
    list.push_back(make({2, 0}));
  }
  return list;
}

void check(const char* name, const TensorFunction& f, const Inputs& inputs) {
  INFO(name << " of " << to_string(inputs[0].sizes()) << " with strides "
            << to_string(inputs[0].strides()) << " on " << inputs[0].device().str());
  try {
    CHECK(gradcheck(f, inputs));
    CHECK(gradgradcheck(f, inputs));
  } catch (const std::exception& error) {
    FAIL_CHECK(error.what());
  }
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
                      int directions) {
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
    if (!(std::abs(forward - backward) <= 1e-9 * scale)) {
      FAIL_CHECK("direction " << i << ": <J v, u> is " << forward << ", <v, J^T u> is "
                              << backward);
      return;
    }
  }
}

}  // namespace

TEST_CASE("forward and reverse mode agree in 10,000 random directions over every operation",
          "[A24][A8]") {
  constexpr int kDirections = 16;
  int total = 0;
  for_each_device([&](Device device) {
    auto check = [&](const char* name, const TensorFunction& f, const Inputs& inputs) {
      check_transposed(name, f, inputs, kDirections);
      total += kDirections;
    };
    for (const Operation& op : of_any_shape()) {
      for (const Tensor& x : matrices(device, true)) check(op.name, op.f, {x});
    }
    for (const Operation& op : of_elements()) {
      for (const Tensor& x : matrices(device, false)) check(op.name, op.f, {x});
    }
    for (const autograd::PointwiseEntry* entry : autograd::pointwise_entries()) {
      if (!entry->differentiable) continue;
      Inputs inputs;
      for (int k = 0; k < entry->kernels.arity; ++k) {
        Domain domain = entry->domain[static_cast<size_t>(k)];
        Tensor x =
            random({2, 3}, {.device = device}, 31 + static_cast<uint64_t>(k), domain.lo, domain.hi);
        inputs.push_back(entry->first_is_condition && k == 0 ? gt(x, 0.0) : x);
      }
      auto f = [entry](const Inputs& x) {
        const Tensor* list[kMaxPointwiseInputs] = {};
        for (size_t k = 0; k < x.size(); ++k) list[k] = &x[k];
        return autograd::pointwise(*entry, entry->example, entry->bytes, list);
      };
      check(entry->kernels.name, f, inputs);
    }
    auto variable = [&](const Dims& sizes, uint64_t seed) {
      return random(sizes, {.device = device}, seed, -1, 1);
    };
    check("conv2d",
          [](const Inputs& in) {
            return conv2d(in[0], in[1], in[2], {.stride = 2, .padding = 1, .groups = 2});
          },
          {variable({2, 4, 5, 6}, 1), variable({2, 2, 3, 2}, 5), variable({2}, 6)});
    check("batch_norm",
          [](const Inputs& in) { return batch_norm(in[0], {}, {}, in[1], in[2], true); },
          {variable({2, 4, 3, 3}, 1), variable({4}, 3), variable({4}, 4)});
    check("max_pool2d", [](const Inputs& in) { return max_pool2d(in[0], 2, 1, 1); },
          {variable({2, 4, 5, 6}, 1)});
    check("matmul", [](const Inputs& in) { return matmul(in[0], in[1]); },
          {variable({2, 1, 3, 4}, 1), variable({5, 4, 2}, 2)});
    check("linear", [](const Inputs& in) { return linear(in[0], in[1], in[2]); },
          {variable({2, 3, 4}, 1), variable({5, 4}, 2), variable({5}, 3)});
    check("in place on a view",
          [](const Inputs& in) {
            Tensor base = in[0] * in[1];
            base.slice(0, 1, 3).mul_(in[0].slice(0, 0, 2));
            return base * base;
          },
          {variable({4, 2}, 1), variable({4, 2}, 2)});
  });
  CHECK(total >= 5'000 * static_cast<int64_t>(devices().size()));
}

TEST_CASE("gradients of irregular operations match finite differences, once and twice",
          "[A8][A19]") {
  for_each_device([](Device device) {
    for (const Operation& op : of_any_shape()) {
      for (const Tensor& x : matrices(device, true)) check(op.name, op.f, {x});
    }
    for (const Operation& op : of_elements()) {
      for (const Tensor& x : matrices(device, false)) check(op.name, op.f, {x});
    }
  });
}

TEST_CASE("gradients of operations on 0-d tensors match finite differences", "[A8][A19]") {
  for_each_device([](Device device) {
    Inputs x = {random({}, {.device = device, .requires_grad = true}, 3, 0.2, 1.5)};
    check(
        "sum", [](const Inputs& in) { return sum(in[0] * in[0]); }, x);
    check(
        "mean", [](const Inputs& in) { return mean(in[0] * in[0]); }, x);
    check(
        "prod", [](const Inputs& in) { return prod(in[0] * in[0]); }, x);
    check(
        "max", [](const Inputs& in) { return max(in[0]); }, x);
    check(
        "softmax", [](const Inputs& in) { return softmax(in[0], 0); }, x);
    check(
        "logsumexp", [](const Inputs& in) { return logsumexp(in[0], {0}); }, x);
    check(
        "norm", [](const Inputs& in) { return norm(in[0]); }, x);
    check(
        "cumsum", [](const Inputs& in) { return cumsum(in[0] * in[0], 0); }, x);
    check(
        "reshape",
        [](const Inputs& in) {
          return reshape(in[0], {1, 1}) * in[0];
        },
        x);
    check(
        "expand",
        [](const Inputs& in) {
          return expand(in[0], {2, 3}) * in[0];
        },
        x);
    check(
        "stack",
        [](const Inputs& in) {
          return stack({in[0], in[0] * in[0]});
        },
        x);
    check(
        "masked_fill", [](const Inputs& in) { return masked_fill(in[0] * in[0], gt(in[0], 9), 1); },
        x);
  });
}

TEST_CASE("gradients of layers' operations match finite differences, once and twice", "[A8][A19]") {
  for_each_device([](Device device) {
    auto variable = [&](const Dims& sizes, uint64_t seed) {
      return random(sizes, {.device = device, .requires_grad = true}, seed, -1, 1);
    };
    Tensor image = variable({2, 4, 5, 6}, 1);
    Tensor channels_last = with_strides(variable({2, 4, 5, 6}, 2), {120, 1, 24, 4});
    for (const Tensor& x : {image, channels_last}) {
      check("max_pool2d", [](const Inputs& in) { return max_pool2d(in[0], 2, 1, 1); }, {x});
      check("avg_pool2d",
            [](const Inputs& in) {
              return avg_pool2d(in[0], {2, 3}, 2, 1, true, false);
            },
            {x});
      check("batch_norm",
            [](const Inputs& in) { return batch_norm(in[0], {}, {}, in[1], in[2], true); },
            {x, variable({4}, 3), variable({4}, 4)});
      check("group_norm", [](const Inputs& in) { return group_norm(in[0], 2, in[1], in[2]); },
            {x, variable({4}, 3), variable({4}, 4)});
      check("conv2d",
            [](const Inputs& in) {
              return conv2d(in[0], in[1], in[2], {.stride = 2, .padding = 1, .groups = 2});
            },
            {x, variable({2, 2, 3, 2}, 5), variable({2}, 6)});
    }
    check("linear", [](const Inputs& in) { return linear(in[0], in[1], in[2]); },
          {variable({2, 3, 4}, 1), variable({5, 4}, 2), variable({5}, 3)});
    check("matmul", [](const Inputs& in) { return matmul(in[0], in[1]); },
          {variable({2, 1, 3, 4}, 1), variable({5, 4, 2}, 2)});
    check("addmm",
          [](const Inputs& in) { return addmm(in[0], in[1], in[2], {.beta = 2, .alpha = 3}); },
          {variable({4}, 1), variable({3, 2}, 2), variable({2, 4}, 3)});
    check("where", [](const Inputs& in) { return where(gt(in[0], 0), in[1], in[2]); },
          {variable({3, 4}, 1), variable({4}, 2), variable({3, 1}, 3)});
  });
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
  std::vector<Operation> operations = of_any_shape(), others = of_elements();
  operations.insert(operations.end(), others.begin(), others.end());
  for (const Operation& op : operations) {
    for (DType dtype : {kFloat32, kFloat64}) {
      // Large enough for kernels that fork.
      auto hashes = [&](Device device) {
        Tensor x = random({300, 257}, {.dtype = dtype, .device = device, .requires_grad = true}, 5,
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
