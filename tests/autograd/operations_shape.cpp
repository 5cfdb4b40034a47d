#include <autograd/operations.hpp>

#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/random_fill.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>

/// Operations that move elements: each result is squared where the operation alone would be linear,
/// so that a second derivative has something to say.
namespace farro::test {
namespace {

constexpr Skip kNoDimension{Kind::ZeroD, "names a dimension, of which a 0-d tensor has none"};
constexpr Skip kNoMatrix{Kind::ZeroD, "takes matrices"};
constexpr Skip kNoElement{Kind::Empty, "names an entry of a dimension, which has none"};

Tensor squared(const Tensor& x) { return x * x; }

/// 0, -1, 0 as positions along the first dimension.
Tensor rows(const Tensor& x) {
  return from_values({0, -1, 0}, {.dtype = kInt64, .device = x.device()});
}

/// A position for each element of x, along its last dimension.
Tensor positions(const Tensor& x) {
  std::vector<double> values;
  int64_t size = x.dim() == 0 ? 1 : x.size(-1);
  for (int64_t i = 0; i < x.numel(); ++i)
    values.push_back(static_cast<double>((i * 3 + i / size) % size));
  return from_values(values, x.sizes(), {.dtype = kInt64, .device = x.device()});
}

/// x times the random numbers that x² is overwritten with.
Tensor filled(const Tensor& x, void (*fill)(const Tensor&, Generator&)) {
  Generator generator(5);
  Tensor y = squared(x);
  fill(y, generator);
  return y * x;
}

std::vector<Tensor> each_squared(std::vector<Tensor> list) {
  for (Tensor& x : list) x = squared(x);
  return list;
}

std::vector<Operation> view_operations() {
  return {
      {"view",
       [](const Inputs& x) {
         return squared(contiguous(x[0]).view({x[0].numel(), 1}));
       },
       {any()}},
      {"reshape", [](const Inputs& x) { return squared(reshape(x[0], {x[0].numel()})); }, {any()}},
      {"flatten", [](const Inputs& x) { return squared(flatten(x[0])); }, {any()}},
      {"unflatten",
       [](const Inputs& x) {
         return squared(unflatten(x[0], 0, {1, x[0].size(0)}));
       },
       {any()},
       {kNoDimension}},
      {"squeeze", [](const Inputs& x) { return squared(squeeze(x[0])); }, {any()}},
      {"squeeze of a dimension",
       [](const Inputs& x) { return squared(squeeze(unsqueeze(x[0], 0), 0)); },
       {any()}},
      {"squeeze of dimensions",
       [](const Inputs& x) {
         return squared(squeeze(x[0].unsqueeze(0).unsqueeze(-1), {0, -1}));
       },
       {any()}},
      {"unsqueeze", [](const Inputs& x) { return squared(unsqueeze(x[0], -1)); }, {any()}},
      {"permute",
       [](const Inputs& x) {
         return squared(permute(x[0], {1, 0}));
       },
       {any()},
       {kNoMatrix}},
      {"transpose", [](const Inputs& x) { return transpose(x[0], 0, -1) * x[0].sum(); }, {any()}},
      {"t", [](const Inputs& x) { return squared(t(x[0])); }, {any()}},
      {"movedim", [](const Inputs& x) { return squared(movedim(x[0], 0, -1)); }, {any()}},
      {"expand",
       [](const Inputs& x) {
         return expand(flatten(squared(x[0])).unsqueeze(0), {3, -1});
       },
       {any()}},
      {"expand_as",
       [](const Inputs& x) { return squared(expand_as(x[0], x[1])) * x[1]; },
       {{{}, {0, 3}, {1, 1}, {3, 5}, {-1, 1}, {5}},
        {{}, {2, 0, 3}, {1, 1}, {3, 5}, {-1, 1}, {3, 5}}}},
      {"broadcast_to",
       [](const Inputs& x) {
         return squared(broadcast_to(flatten(x[0]).unsqueeze(0), {3, x[0].numel()}));
       },
       {any()}},
      {"broadcast_tensors",
       [](const Inputs& x) {
         return each_squared(broadcast_tensors({x[0], x[1]}));
       },
       {{{}, {0, 3}, {1, 1}, {3, 5}, {-1, 1}, {5}}, {{}, {0, 1}, {1, 1}, {3, 5}, {-1, 1}, {3, 1}}}},
      {"slice",
       [](const Inputs& x) { return squared(slice(x[0], 0, 0, {}, 2)); },
       {any()},
       {kNoDimension}},
      {"narrow",
       [](const Inputs& x) { return squared(narrow(x[0], -1, 0, 1)); },
       {any()},
       {kNoDimension}},
      {"select",
       [](const Inputs& x) { return squared(select(x[0], 0, -1)); },
       {any()},
       {kNoDimension, kNoElement}},
      {"split",
       [](const Inputs& x) { return each_squared(split(x[0], 2, 0)); },
       {any()},
       {kNoDimension}},
      {"split into sizes",
       [](const Inputs& x) {
         return each_squared(split(x[0], {x[0].size(-1) - 1, 1}, -1));
       },
       {any()},
       {kNoDimension}},
      {"chunk",
       [](const Inputs& x) { return each_squared(chunk(x[0], 2, 0)); },
       {any()},
       {kNoDimension}},
      {"unbind",
       [](const Inputs& x) { return each_squared(unbind(x[0], -1)); },
       {any()},
       {kNoDimension}},
      {"as_strided",
       [](const Inputs& x) { return squared(as_strided(contiguous(x[0]), {x[0].numel()}, {1})); },
       {any()}},
      {"as_strided that overlaps",
       [](const Inputs& x) {
         return squared(as_strided(squared(x[0]).clone(), {2, 2}, {1, 2}));
       },
       {of({0, 3}, {1, 4}, {3, 5})},
       {{Kind::ZeroD, "reads four elements"}, {Kind::Empty, "reads four elements"}}},
      {"diagonal",
       [](const Inputs& x) { return squared(diagonal(x[0], 1)); },
       {any()},
       {kNoMatrix}},
  };
}

std::vector<Operation> joining_operations() {
  return {
      {"cat",
       [](const Inputs& x) {
         return squared(cat({x[0], x[1], x[0]}, -1));
       },
       {any(), of({0, 2}, {1, 3}, {3, 1})},
       {{Kind::ZeroD, "joins along a dimension"}}},
      {"stack",
       [](const Inputs& x) {
         return squared(stack({x[0], squared(x[1])}, -1));
       },
       {any(), any()}},
      {"flip", [](const Inputs& x) { return squared(flip(x[0], {0})); }, {any()}},
      {"roll", [](const Inputs& x) { return squared(roll(x[0], {1}, {-1})); }, {any()}},
      {"repeat",
       [](const Inputs& x) {
         return squared(repeat(x[0], {2, 1}));
       },
       {any()}},
      {"tile", [](const Inputs& x) { return squared(tile(x[0], {2})); }, {any()}},
      {"repeat_interleave",
       [](const Inputs& x) { return squared(repeat_interleave(x[0], 2, 0)); },
       {any()}},
      {"repeat_interleave by a tensor",
       [](const Inputs& x) {
         Tensor counts = arange(x[0].size(-1), {.dtype = kInt64, .device = x[0].device()});
         return squared(repeat_interleave(x[0], counts, -1));
       },
       {any()},
       {kNoDimension}},
      {"tril", [](const Inputs& x) { return squared(tril(x[0])); }, {any()}, {kNoMatrix}},
      {"triu", [](const Inputs& x) { return squared(triu(x[0], 1)); }, {any()}, {kNoMatrix}},
      {"clone", [](const Inputs& x) { return squared(clone(x[0])); }, {any()}},
      {"contiguous",
       [](const Inputs& x) { return squared(contiguous(x[0].transpose(0, -1))); },
       {any()}},
      // Linear, so that its steps may be large beside the rounding of float32.
      {"to another dtype",
       [](const Inputs& x) { return to(to(x[0], kFloat32) * 2, kFloat64); },
       {any()},
       {},
       false,
       1e-2},
      {"to another device",
       [](const Inputs& x) {
         return squared(
             to(to(squared(x[0]), devices().back()), devices().front()).to(x[0].device()));
       },
       {any()}},
      {"copy_",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         y.copy_(squared(x[1]));
         return y * x[0];
       },
       {any(), any()}},
      {"copy_ into a view",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         y.slice(0, 0, 1).copy_(squared(x[1]).slice(0, 0, 1));
         return squared(y);
       },
       {any(), any()},
       {kNoDimension}},
      {"fill_",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         y.fill_(squared(x[1]).sum());
         return y * x[0];
       },
       {any(), any()}},
      {"zero_",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         y.zero_();
         return y * x[0];
       },
       {any()}},
      {"zero_ of a view",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         y.unsqueeze(0).zero_();
         return y * x[0];
       },
       {any()}},
      {"uniform_",
       [](const Inputs& x) {
         return filled(x[0], [](const Tensor& y, Generator& g) { uniform_(y, -1, 1, &g); });
       },
       {any()}},
      {"normal_",
       [](const Inputs& x) {
         return filled(x[0], [](const Tensor& y, Generator& g) { normal_(y, 0, 1, &g); });
       },
       {any()}},
      {"bernoulli_",
       [](const Inputs& x) {
         return filled(x[0], [](const Tensor& y, Generator& g) { bernoulli_(y, 0.5, &g); });
       },
       {any()}},
      {"random_",
       [](const Inputs& x) {
         return filled(x[0], [](const Tensor& y, Generator& g) { random_(y, 0, 9, &g); });
       },
       {any()}},
      {"in place on a view",
       [](const Inputs& x) {
         Tensor base = x[0] * x[1];
         base.slice(0, 0, 1).mul_(x[0].slice(0, 0, 1));
         return squared(base);
       },
       {any(), any()},
       {kNoDimension}},
      {"dropout",
       [](const Inputs& x) {
         Generator generator(5);
         return squared(dropout(x[0], 0.4, true, &generator));
       },
       {any()}},
      {"checkpoint",
       [](const Inputs& x) {
         return checkpoint([](const Tensor& a) { return squared(tanh(squared(a))); }, x[0]);
       },
       {any()}},
  };
}

}  // namespace

std::vector<Operation> shape_operations() {
  std::vector<Operation> list = view_operations();
  for (Operation& operation : joining_operations()) list.push_back(std::move(operation));
  return list;
}

std::vector<Operation> index_operations() {
  return {
      {"index by a tensor",
       [](const Inputs& x) { return squared(x[0][rows(x[0])]); },
       {any()},
       {kNoDimension, kNoElement}},
      {"index by a mask",
       [](const Inputs& x) { return squared(index(x[0], std::vector<Index>{gt(x[0], 0.7)})); },
       {any()}},
      {"index_put_",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         y.index_put_({rows(y).narrow(0, 0, 2)}, squared(x[1]));
         return squared(y);
       },
       {of({3, 0}, {2, 1}, {3, 5}), of({0}, {1}, {5})},
       {kNoDimension}},
      {"index_put_ that adds",
       [](const Inputs& x) {
         Tensor y = squared(x[0]);
         index_put_(y, std::vector<Index>{rows(y)}, squared(x[1]), true);
         return squared(y);
       },
       {of({3, 0}, {2, 1}, {3, 5}), of({0}, {1}, {5})},
       {kNoDimension}},
      {"index_select",
       [](const Inputs& x) { return squared(index_select(x[0], 0, rows(x[0]))); },
       {any()},
       {kNoElement}},
      {"index_add",
       [](const Inputs& x) { return squared(index_add(x[0], 0, rows(x[0]), x[1], 2)); },
       {of({3, 0}, {1, 1}, {3, 5}), of({3, 0}, {3, 1}, {3, 5})},
       {kNoDimension}},
      {"gather",
       [](const Inputs& x) { return squared(gather(x[0], -1, positions(x[0]))); },
       {any()}},
      {"scatter",
       [](const Inputs& x) {
         Tensor index =
             flip(arange(x[0].size(-1), {.dtype = kInt64, .device = x[0].device()}), {0});
         return squared(scatter(x[0], -1, expand(index, x[1].sizes()), x[1]));
       },
       {any(), any()},
       {kNoDimension}},
      {"scatter_add",
       [](const Inputs& x) { return squared(scatter_add(x[0], -1, positions(x[1]), x[1])); },
       {any(), any()}},
      {"take_along_dim",
       [](const Inputs& x) {
         return squared(take_along_dim(x[0], positions(x[0]).narrow(-1, 0, 1), -1));
       },
       {any()},
       {kNoDimension}},
      {"take_along_dim of all elements",
       [](const Inputs& x) { return squared(take_along_dim(x[0], positions(flatten(x[0])))); },
       {any()}},
      {"masked_select",
       [](const Inputs& x) { return squared(masked_select(x[0], gt(x[0], 0.7))); },
       {any()}},
      {"masked_fill",
       [](const Inputs& x) {
         return squared(masked_fill(x[0], gt(x[0], 0.7), squared(x[1]).sum()));
       },
       {any(), any()}},
      {"embedding",
       [](const Inputs& x) {
         return squared(embedding(x[0], rows(x[0]).view({1, 3}).abs()));
       },
       {of({3, 0}, {2, 1}, {3, 5})},
       {{Kind::ZeroD, "takes rows of a matrix"}}},
  };
}

}  // namespace farro::test
