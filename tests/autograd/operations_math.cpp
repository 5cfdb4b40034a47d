#include <autograd/operations.hpp>

#include <farro/autograd/map.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/loss.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/ops/softmax.hpp>

/// Reductions, scans, losses and products.
namespace farro::test {

/// For map, at namespace scope so that device backends take it.
struct Blend {
  template <class T>
  FARRO_FUNCTION T operator()(T a, T b) const {
    return a * b + a * a;
  }
};

namespace {

constexpr Skip kNoDimension{Kind::ZeroD, "names a dimension, of which a 0-d tensor has none"};
constexpr Skip kNoClasses{Kind::ZeroD, "takes a dimension of classes"};
constexpr Skip kNothing{Kind::Empty, "has no value for no elements"};

/// A mean of no elements is NaN, and so is the sum of none divided by their number.
constexpr Skip kMeanOfNothing{Kind::Empty, "the second derivative of a mean of nothing is 0/0",
                              true};

/// A class for each row of x.
Tensor classes(const Tensor& x) {
  Tensor first = x.select(-1, 0);
  return zeros(first.sizes(), {.dtype = kInt64, .device = x.device()});
}

/// x with NaN where it is above 1.
Tensor with_nans(const Tensor& x) { return where(gt(x, 1.0), full_like(x, std::nan("")), x); }

std::vector<Operation> sums() {
  return {
      {"sum", [](const Inputs& x) { return sum(x[0] * x[0]); }, {any()}},
      {"sum of a dimension",
       [](const Inputs& x) { return square(sum(x[0], {-1}, true)); },
       {any()}},
      {"mean", [](const Inputs& x) { return mean(x[0] * x[0]); }, {any()}, {kMeanOfNothing}},
      {"mean of a dimension",
       [](const Inputs& x) { return square(mean(x[0], {0})); },
       {any()},
       {kMeanOfNothing}},
      {"prod", [](const Inputs& x) { return prod(x[0]); }, {any()}},
      {"prod of a dimension", [](const Inputs& x) { return prod(x[0], -1); }, {any()}},
      {"prod around zeros",
       [](const Inputs& x) { return prod(where(gt(x[0], 1.0), zeros_like(x[0]), x[0]), -1); },
       {any()}},
      {"nansum", [](const Inputs& x) { return square(nansum(with_nans(x[0]), {-1})); }, {any()}},
      {"nanmean",
       [](const Inputs& x) { return square(nanmean(with_nans(x[0]), {0})); },
       {any({0.2, 0.9})},
       {kMeanOfNothing}},
      {"sum_to_size",
       [](const Inputs& x) {
         std::vector<int64_t> sizes(x[0].sizes().begin(), x[0].sizes().end());
         if (!sizes.empty()) sizes[0] = 1;
         return square(sum_to_size(x[0], sizes));
       },
       {any()}},
      {"logsumexp", [](const Inputs& x) { return logsumexp(x[0], {-1}); }, {any()}},
      {"norm", [](const Inputs& x) { return norm(x[0]); }, {any()}},
      {"1-norm of a dimension",
       [](const Inputs& x) { return square(norm(x[0], 1, {-1})); },
       {any()}},
      {"3-norm of a dimension", [](const Inputs& x) { return norm(x[0], 3, {0}); }, {any()}},
      {"maximum norm", [](const Inputs& x) { return square(norm(x[0], HUGE_VAL, {-1})); }, {any()}},
      {"var", [](const Inputs& x) { return var(x[0], {}, 0); }, {any()}, {kMeanOfNothing}},
      {"std",
       [](const Inputs& x) {
         return farro::std(cat({x[0], x[0] * x[0] + 1}, -1), {-1}, 0.5);
       },
       {any()},
       {{Kind::ZeroD, "joins two along a dimension, to have a deviation"}}},
      {"var_mean",
       [](const Inputs& x) { return var_mean(x[0], {0}, -1); },
       {any()},
       {kMeanOfNothing}},
      {"std_mean",
       [](const Inputs& x) {
         return std_mean(stack({x[0], x[0] * x[0] + 1}), {0}, 0);
       },
       {any()}},
      {"cumsum", [](const Inputs& x) { return cumsum(x[0] * x[0], 0); }, {any()}},
      {"cumprod", [](const Inputs& x) { return cumprod(x[0], -1); }, {any()}},
      {"cumprod around zeros",
       [](const Inputs& x) { return cumprod(where(gt(x[0], 1.0), zeros_like(x[0]), x[0]), -1); },
       {any()}},
      {"softmax", [](const Inputs& x) { return softmax(x[0], -1); }, {any()}},
      {"softmax of the first dimension", [](const Inputs& x) { return softmax(x[0], 0); }, {any()}},
      {"log_softmax", [](const Inputs& x) { return log_softmax(x[0], -1); }, {any()}},
      {"log_softmax of the first dimension",
       [](const Inputs& x) { return log_softmax(x[0], 0); },
       {any()}},
      {"softmin", [](const Inputs& x) { return softmin(x[0], -1); }, {any()}},
  };
}

std::vector<Operation> extrema() {
  return {
      {"amax", [](const Inputs& x) { return square(amax(x[0], {-1})); }, {any()}},
      {"amin", [](const Inputs& x) { return square(amin(x[0], {-1}, true)); }, {any()}},
      {"max", [](const Inputs& x) { return square(max(x[0])); }, {any()}, {kNothing}},
      {"min", [](const Inputs& x) { return square(min(x[0])); }, {any()}, {kNothing}},
      {"max along a dimension", [](const Inputs& x) { return max(x[0] * x[0], -1); }, {any()}},
      {"min along a dimension",
       [](const Inputs& x) { return min(x[0] * x[0], 0); },
       {any()},
       {kNothing}},
      {"aminmax", [](const Inputs& x) { return aminmax(x[0] * x[0], 0); }, {any()}, {kNothing}},
      {"cummax", [](const Inputs& x) { return cummax(x[0] * x[0], -1); }, {any()}},
      {"cummin", [](const Inputs& x) { return cummin(x[0] * x[0], 0); }, {any()}},
      {"nll_loss",
       [](const Inputs& x) { return nll_loss(x[0] * x[0], classes(x[0])); },
       {of({0, 3}, {1, 1}, {3, 5})},
       {kMeanOfNothing, kNoClasses}},
      {"cross_entropy",
       [](const Inputs& x) { return cross_entropy(x[0], classes(x[0])); },
       {of({0, 3}, {1, 1}, {3, 5})},
       {kMeanOfNothing, kNoClasses}},
      {"cross_entropy of each row",
       [](const Inputs& x) {
         Tensor weight =
             arange(x[0].size(-1), {.dtype = x[0].dtype(), .device = x[0].device()}) + 0.5;
         return cross_entropy(x[0], classes(x[0]), weight, -100, Reduction::None);
       },
       {of({0, 3}, {1, 1}, {3, 5})},
       {kNoClasses}},
      {"cross_entropy with smoothed labels",
       [](const Inputs& x) {
         return cross_entropy(x[0], classes(x[0]), {}, -100, Reduction::Sum, 0.1);
       },
       {of({0, 3}, {1, 1}, {3, 5})},
       {kNoClasses}},
      {"cross_entropy with probabilities",
       [](const Inputs& x) { return cross_entropy(x[0], softmax(x[1], -1)); },
       {of({0, 3}, {1, 1}, {3, 5}), of({0, 3}, {1, 1}, {3, 5})},
       {kMeanOfNothing, kNoClasses}},
      {"mse_loss",
       [](const Inputs& x) { return mse_loss(x[0], x[1]); },
       {any(), any()},
       {kMeanOfNothing}},
      {"l1_loss",
       [](const Inputs& x) { return l1_loss(x[0] * x[0], x[1], Reduction::Sum); },
       {any({1, 1.5}), any({0, 0.9})}},
      {"map",
       [](const Inputs& x) { return map(Blend{}, x[0], x[1]); },
       {{{}, {0, 3}, {1, 1}, {3, 5}, {-1, 1}, {3, 1}}, {{}, {0, 3}, {1, 1}, {3, 5}, {-1, 1}, {5}}}},
  };
}

}  // namespace

std::vector<Operation> reduce_operations() {
  std::vector<Operation> list = sums();
  for (Operation& operation : extrema()) list.push_back(std::move(operation));
  return list;
}

std::vector<Operation> product_operations() {
  constexpr Skip kNoMatrix{Kind::ZeroD, "takes vectors or matrices"};
  return {
      {"matmul",
       [](const Inputs& x) { return matmul(x[0], x[1]); },
       {{{}, {0, 3}, {1, 1}, {3, 5}, {-1, 1}, {2, 1, 3, 1}},
        {{}, {3, 2}, {1, 1}, {5, 3}, {-1, 1}, {3, 1, 3}}},
       {kNoMatrix}},
      {"matmul with no inner entry",
       [](const Inputs& x) { return matmul(x[0], x[1]); },
       {of({3, 0}, {1, 1}, {3, 7}), of({0, 2}, {1, 1}, {7, 1})},
       {kNoMatrix}},
      {"product with its transpose",
       [](const Inputs& x) { return matmul(x[0], x[0].transpose(0, 1)); },
       {any()},
       {{Kind::ZeroD, "takes matrices"}}},
      {"matrix times vector",
       [](const Inputs& x) { return matmul(x[0], x[1]); },
       {any(), of({3}, {1}, {5})},
       {kNoMatrix}},
      {"vector times matrix",
       [](const Inputs& x) { return matmul(x[0], x[1]); },
       {of({3}, {1}, {5}), of({3, 0}, {1, 1}, {5, 3})},
       {kNoMatrix}},
      {"mm",
       [](const Inputs& x) { return mm(x[0], x[1]); },
       {any(), of({3, 2}, {1, 1}, {5, 3})},
       {kNoMatrix}},
      {"bmm",
       [](const Inputs& x) { return bmm(x[0], x[1]); },
       {of({0, 2, 3}, {1, 1, 1}, {3, 1, 5}), of({0, 3, 2}, {1, 1, 1}, {3, 5, 3})},
       {kNoMatrix}},
      {"mv",
       [](const Inputs& x) { return mv(x[0], x[1]); },
       {any(), of({3}, {1}, {5})},
       {kNoMatrix}},
      {"dot", [](const Inputs& x) { return dot(x[0], x[1]); }, {line(), line()}, {kNoMatrix}},
      {"outer",
       [](const Inputs& x) { return outer(x[0], x[1]); },
       {line(), of({2}, {1}, {3})},
       {kNoMatrix}},
      {"addmm",
       [](const Inputs& x) { return addmm(x[0], x[1], x[2], {.beta = 2, .alpha = 3}); },
       {{{}, {2}, {1}, {5}, {-1, 1}, {5}},
        {{}, {0, 3}, {1, 1}, {3, 3}, {-1, 1}, {3, 3}},
        {{}, {3, 2}, {1, 1}, {3, 5}, {-1, 1}, {3, 5}}},
       {kNoMatrix}},
      {"baddbmm",
       [](const Inputs& x) { return baddbmm(x[0], x[1], x[2], {.beta = 0.5, .alpha = 3}); },
       {{{}, {0, 2, 1}, {1, 1, 1}, {3, 1, 3}, {-1, 1}, {3, 1}},
        {{}, {0, 2, 3}, {1, 1, 1}, {3, 1, 5}, {-1, 1}, {3, 3, 5}},
        {{}, {0, 3, 1}, {1, 1, 1}, {3, 5, 3}, {-1, 1}, {3, 5, 1}}},
       {kNoMatrix}},
      {"linear",
       [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
       {of({0, 3}, {1, 1}, {3, 5}), of({2, 3}, {1, 1}, {3, 5}), of({2}, {1}, {3})},
       {kNoMatrix}},
  };
}

}  // namespace farro::test
