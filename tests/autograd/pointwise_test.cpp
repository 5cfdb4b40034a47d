#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <support/compare.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise_list.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/launch.hpp>

/// Every operation of the lists, by iteration.

namespace farro::test {
namespace {

using autograd::pointwise_entries;
using autograd::PointwiseEntry;

std::vector<const PointwiseEntry*> differentiable_entries() {
  auto all = pointwise_entries();
  std::erase_if(all, [](const PointwiseEntry* e) { return !e->differentiable; });
  return all;
}

/// Numbers from the operation's domain, of its own dtype where it has one.
Tensor sample(const PointwiseEntry& entry, int input, const Dims& sizes, TensorOptions options) {
  Domain domain = entry.domain[static_cast<size_t>(input)];
  if (entry.first_is_condition && input == 0) {
    return gt(random(sizes, {.device = options.device}, 7), 0.0);
  }
  if (entry.integers_only) {
    return random(sizes, {.device = options.device}, 3 + static_cast<uint64_t>(input), -90, 90)
        .to(kInt64);
  }
  options.requires_grad = options.requires_grad && entry.differentiable;
  return random(sizes, options, 11 + static_cast<uint64_t>(input), domain.lo, domain.hi);
}

std::vector<Tensor> samples(const PointwiseEntry& entry, const Dims& sizes, TensorOptions options) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < entry.kernels.arity; ++i) inputs.push_back(sample(entry, i, sizes, options));
  return inputs;
}

Tensor call(const PointwiseEntry& entry, const std::vector<Tensor>& inputs) {
  const Tensor* pointers[kMaxPointwiseInputs] = {};
  for (size_t i = 0; i < inputs.size(); ++i) pointers[i] = &inputs[i];
  return autograd::pointwise(entry, entry.example, entry.bytes, pointers);
}

/// The output and the gradients of the inputs, for a fixed gradient of the output.
std::vector<Tensor> run(const PointwiseEntry& entry, const std::vector<Tensor>& inputs) {
  Tensor y = call(entry, inputs);
  std::vector<Tensor> results = {y.detach()};
  std::vector<Tensor> wanted;
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) wanted.push_back(x);
  }
  if (wanted.empty()) return results;
  Tensor dy = random(y.sizes(), {.dtype = y.dtype(), .device = y.device()}, 5, 0.5, 1.5);
  for (Tensor& g : grad({y}, wanted, {}, {dy})) results.push_back(g);
  return results;
}

void require_same_bits(const PointwiseEntry& entry, const std::vector<Tensor>& a,
                       const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO(entry.node_name << ", result " << i << ": " << difference(a[i], b[i], {0, 0}));
    CHECK(bitwise_equal(a[i], b[i]));
  }
}

void require_close(const PointwiseEntry& entry, const std::vector<Tensor>& a,
                   const std::vector<Tensor>& b, Tolerance tolerance) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO(entry.node_name << ", result " << i);
    CHECK(difference(a[i], b[i], tolerance) == "");
  }
}

}  // namespace

TEST_CASE("pointwise: SIMD kernels agree with the plain Kokkos kernels") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      auto inputs = samples(*entry, {37}, {.dtype = dtype, .requires_grad = true});
      auto fast = run(*entry, inputs);
      std::vector<Tensor> plain;
      {
        ReferenceKernels scope;
        plain = run(*entry, inputs);
      }
      double ulp = dtype == kFloat32 ? 1.2e-7 : 2.3e-16;
      require_close(*entry, fast, plain, {40 * ulp, 4 * ulp});
    }
  }
}

TEST_CASE("pointwise: a recorded backward gives what the kernel gives") {
  for (const PointwiseEntry* entry : differentiable_entries()) {
    auto inputs = samples(*entry, {4, 3}, {.dtype = kFloat64, .requires_grad = true});
    std::vector<Tensor> wanted;
    for (const Tensor& x : inputs) {
      if (x.requires_grad()) wanted.push_back(x);
    }
    Tensor dy = random({4, 3}, {.dtype = kFloat64}, 5);
    Tensor y = call(*entry, inputs);
    auto kernel = grad({y}, wanted, {.retain_graph = true}, {dy});
    auto recorded = grad({y}, wanted, {.create_graph = true}, {dy});
    require_close(*entry, recorded, kernel, {1e-13, 1e-15});
  }
}

TEST_CASE("pointwise: Serial and OpenMP give the same bits, forward and backward", "[bits][A20]") {
  auto [serial, openmp] = serial_and_openmp();
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      auto on = [&](Device device) {
        return run(*entry, samples(*entry, {40009},
                                   {.dtype = dtype, .device = device, .requires_grad = true}));
      };
      require_same_bits(*entry, on(serial), on(openmp));
    }
  }
}

TEST_CASE("pointwise: every dtype gives the same bits on Serial and OpenMP", "[bits][A20]") {
  auto [serial, openmp] = serial_and_openmp();
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kBFloat16, kFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool}) {
      bool integers = !is_floating_point(dtype);
      if (integers && entry->floats_only) continue;
      if (dtype == kBool && entry->bools != Bools::Any) continue;
      if (entry->integers_only && !integers) continue;
      auto of = [&](Device device) {
        std::vector<Tensor> inputs;
        for (int i = 0; i < entry->kernels.arity; ++i) {
          Tensor x =
              sample(*entry, i, {9001}, {.dtype = integers ? kFloat32 : dtype, .device = device});
          bool condition = entry->first_is_condition && i == 0;
          if (integers && !condition) x = (x.to(kFloat32) * 7).to(dtype);
          if (integers && entry->divides_integers && i == 1) x = x + eq(x, 0).to(dtype);
          inputs.push_back(condition ? x.to(kBool) : x);
        }
        return run(*entry, inputs);
      };
      INFO(name_of(dtype));
      require_same_bits(*entry, of(openmp), of(serial));
    }
  }
}

TEST_CASE("pointwise: special numbers in packs give what they give one by one") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const PointwiseEntry* entry : pointwise_entries()) {
    if (entry->integers_only) continue;
    for (DType dtype : {kFloat32, kFloat64}) {
      bool single = dtype == kFloat32;
      double tiny = single ? 1e-45 : 4.9e-324,
             small = single ? 1.17549435e-38 : 2.2250738585072014e-308;
      double large = single ? 3.4028234e38 : 1.7976931348623157e308;
      Tensor numbers = from_values(
          {0.0,       -0.0,         1,     -1,    0.5,   -0.5,   2,     -2,     infinity,
           -infinity, std::nan(""), tiny,  -tiny, small, -small, large, -large, 88.5,
           -88.5,     -103,         709.7, -745,  1e6},
          {.dtype = dtype});
      int64_t n = numbers.numel();
      std::vector<Tensor> inputs;
      for (int i = 0; i < entry->kernels.arity; ++i) {
        Tensor x = i == 0   ? numbers.reshape({n, 1})
                   : i == 1 ? numbers.reshape({1, n})
                            : numbers.narrow(0, 3, 1);
        inputs.push_back(entry->first_is_condition && i == 0 ? gt(x, 0.0) : x.clone());
      }
      Tensor fast = call(*entry, inputs);
      ReferenceKernels scope;
      require_close(*entry, {fast}, {call(*entry, inputs)}, {single ? 1e-6 : 2e-15, 4 * tiny});
    }
  }
}

TEST_CASE("pointwise: an element's bits do not depend on its place") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      auto whole = samples(*entry, {19}, {.dtype = dtype, .requires_grad = true});
      auto results = run(*entry, whole);
      for (int64_t i = 0; i < 19; i += 3) {
        std::vector<Tensor> part;
        for (const Tensor& x : whole) part.push_back(x.detach().narrow(0, i, 1).clone());
        Tensor y = call(*entry, part);
        INFO(entry->node_name << " at " << i);
        CHECK(bitwise_equal(y, results[0].narrow(0, i, 1)));
      }
    }
  }
}

TEST_CASE("pointwise: every layout gives the bits of the contiguous copy", "[A19]") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
      auto inputs = samples(*entry, {3, 5, 2}, {.dtype = dtype, .requires_grad = true});
      auto expected = run(*entry, inputs);
      std::vector<Tensor> strided;
      for (size_t i = 0; i < inputs.size(); ++i) {
        Dims strides = i == 0 ? Dims{1, 3, 15} : i == 1 ? Dims{40, 4, 2} : Dims{2, 6, 1};
        strided.push_back(inputs[i].dtype() == kBool ? inputs[i].detach()
                                                     : with_strides(inputs[i].detach(), strides));
        if (inputs[i].requires_grad()) strided.back().requires_grad_();
      }
      require_same_bits(*entry, run(*entry, strided), expected);
    }
  }
}

TEST_CASE("pointwise: broadcast inputs behave as expanded ones, and their gradients are summed",
          "[A19]") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    if (entry->kernels.arity < 2) continue;
    for (int narrow = 0; narrow < entry->kernels.arity; ++narrow) {
      for (Dims sizes : {Dims{2}, Dims{5, 1}, Dims{3, 1, 2}, Dims{}, Dims{1, 1, 1}}) {
        auto inputs = samples(*entry, {3, 5, 2}, {.dtype = kFloat64, .requires_grad = true});
        auto k = static_cast<size_t>(narrow);
        inputs[k] = sample(*entry, narrow, sizes, {.dtype = kFloat64, .requires_grad = true});
        auto results = run(*entry, inputs);
        auto full = inputs;
        full[k] = inputs[k].detach().expand({3, 5, 2}).clone();
        if (inputs[k].requires_grad()) full[k].requires_grad_();
        auto expected = run(*entry, full);
        INFO(entry->node_name << " input " << narrow);
        CHECK(bitwise_equal(results[0], expected[0]));
        size_t place = 1;
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (!inputs[i].requires_grad()) continue;
          if (i == k) {
            Tensor sum = autograd::sum_to_sizes(expected[place], sizes);
            CHECK(difference(results[place], sum, {1e-13, 1e-13}) == "");
          } else {
            CHECK(bitwise_equal(results[place], expected[place]));
          }
          ++place;
        }
      }
    }
  }
}

TEST_CASE("pointwise: 0-d and empty tensors", "[A19]") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    auto line = samples(*entry, {1}, {.dtype = kFloat64, .requires_grad = true});
    std::vector<Tensor> points;
    for (const Tensor& x : line) {
      points.push_back(x.detach().reshape({}));
      points.back().requires_grad_(x.requires_grad());
    }
    auto a = run(*entry, points), b = run(*entry, line);
    for (size_t i = 0; i < a.size(); ++i) {
      INFO(entry->node_name);
      CHECK(a[i].dim() == 0);
      CHECK(bitwise_equal(a[i].reshape({1}), b[i]));
    }
    auto none = run(*entry, samples(*entry, {2, 0, 3}, {.dtype = kFloat64, .requires_grad = true}));
    for (const Tensor& t : none) CHECK(t.sizes() == Dims{2, 0, 3});
  }
}

TEST_CASE("pointwise: 16-bit floats compute in float32 and round once") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kBFloat16, kFloat16}) {
      auto inputs = samples(*entry, {41}, {.dtype = dtype, .requires_grad = true});
      std::vector<Tensor> wide;
      for (const Tensor& x : inputs) {
        wide.push_back(x.is_floating_point() ? x.detach().to(kFloat32) : x);
        if (x.requires_grad()) wide.back().requires_grad_();
      }
      Tensor y = call(*entry, inputs), z = call(*entry, wide);
      INFO(entry->node_name);
      CHECK(bitwise_equal(y, is_floating_point(z.dtype()) ? z.detach().to(dtype) : z));
      if (entry->kernels.arity == 1 && y.requires_grad()) {
        Tensor dy = random({41}, {.dtype = dtype}, 5);
        Tensor g = grad({y}, {inputs[0]}, {}, {dy})[0],
               h = grad({z}, {wide[0]}, {}, {dy.to(kFloat32)})[0];
        CHECK(g.dtype() == dtype);
        // Where the gradient reads the output, it reads the rounded one.
        double eps = dtype == kBFloat16 ? 0.008 : 0.001;
        CHECK(difference(g.to(kFloat32), h, {4 * eps, 4 * eps}) == "");
      }
    }
  }
}

TEST_CASE("pointwise: integers compute as their exact numbers") {
  for (const PointwiseEntry* entry : pointwise_entries()) {
    for (DType dtype : {kInt64, kInt32, kInt16, kInt8, kUInt8}) {
      double lo = dtype == kUInt8 ? 1 : -5;
      std::vector<Tensor> inputs, reals;
      for (int i = 0; i < entry->kernels.arity; ++i) {
        bool condition = entry->first_is_condition && i == 0;
        Tensor x = random({23}, {}, 21 + static_cast<uint64_t>(i), lo, 6).to(dtype);
        if (i == 1 || entry->integers_to_float)
          x = x + eq(x, 0).to(dtype);  // no divisor, no logarithm of 0
        inputs.push_back(condition ? gt(x, 1) : x);
        reals.push_back(condition ? inputs.back() : x.to(kFloat64));
      }
      INFO(entry->node_name << " " << name_of(dtype));
      if (entry->floats_only) {
        CHECK_THROWS_AS(call(*entry, inputs), TypeError);
        continue;
      }
      Tensor y = call(*entry, inputs);
      CHECK(y.dtype() == (entry->returns_bool        ? kBool
                          : entry->integers_to_float ? kFloat32
                                                     : dtype));
      if (entry->integers_only) {
        CHECK_THROWS_AS(call(*entry, reals), TypeError);
        continue;
      }
      std::string name = entry->kernels.name;
      if (name == "pow" || name == "add" || name == "threshold")
        continue;  // numbers with a fraction, negative powers
      Tensor z = call(*entry, reals);
      if (entry->integers_to_float) {
        CHECK(difference(y.to(kFloat64), z, {1e-5, 1e-6}) == "");
      } else {
        CHECK(bitwise_equal(y, z.to(y.dtype() == kUInt8 ? kInt64 : y.dtype()).to(y.dtype())));
      }
    }
  }
}

}  // namespace farro::test
