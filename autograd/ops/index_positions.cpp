#include <farro/autograd/ops/index_positions.hpp>

#include <vector>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/copy.hpp>

namespace farro::autograd {

using kernels::Selection;

Tensor usable_index(const Tensor& index, const Tensor& x, const char* operation) {
  if (!is_integral(index.dtype())) {
    fail<TypeError>(operation, "expected an index of integers, got {}", name_of(index.dtype()));
  }
  bool reachable =
      index.device() == x.device() || (index.device().is_host() && x.device().is_host());
  return reachable ? index : to(index, x.device());
}

namespace {

void check_range(const std::optional<kernels::BadIndex>& bad, int64_t size, const char* operation) {
  if (bad)
    fail<IndexError>(operation, "expected an index in [{}, {}), got {}", -size, size, bad->value);
}

}  // namespace

Tensor combine_positions(std::span<const Tensor> indices, const Dims& sizes,
                         const char* operation) {
  Dims shape;
  std::vector<ArrayView> arrays;
  for (const Tensor& index : indices) {
    shape = broadcast_shapes(shape, index.sizes(), operation);
    arrays.push_back(index.array());
  }
  Tensor positions = empty(shape, kInt64, indices[0].device());
  auto bad = kernels::combine_indices(positions.array(), arrays, sizes);
  if (bad) check_range(bad, sizes[bad->which], operation);
  return positions;
}

Tensor gather_positions(const Tensor& index, const Tensor& x, int dim, const char* operation) {
  Tensor positions = empty(index.sizes(), kInt64, index.device());
  check_range(kernels::gather_positions(positions.array(), index.array(), x.sizes(), dim),
              x.sizes()[dim], operation);
  return positions;
}

Tensor nonzero_positions(const Tensor& x) {
  Tensor positions = empty({kernels::count_nonzero(x.array())}, kInt64, x.device());
  kernels::nonzero_positions(positions.array(), x.array());
  return positions;
}

Dims selected_sizes(const Dims& x, const Dims& positions, const Selection& selection) {
  Dims sizes;
  for (int d = 0; d < selection.first; ++d) sizes.push_back(x[d]);
  for (int64_t size : positions) sizes.push_back(size);
  for (int d = selection.first + selection.count; d < x.size(); ++d) sizes.push_back(x[d]);
  return sizes;
}

Tensor take(const char* name, const Tensor& x, const Tensor& positions,
            const Selection& selection) {
  Tensor out = empty_like_array(selected_sizes(x.sizes(), positions.sizes(), selection), x);
  kernels::take(out.array(), x.array(), positions.array(), selection);
  return record(name, out, {x}, {positions},
                [sizes = x.sizes(), selection](const BackwardContext& c) -> Grads {
                  return {spread(c.grad(), sizes, c.saved(0), selection)};
                });
}

Tensor spread(const Tensor& grad, const Dims& sizes, const Tensor& positions,
              const Selection& selection) {
  Tensor out = empty_like_array(sizes, grad);
  kernels::zero(out.array());
  kernels::add_at(out.array(), positions.array(), grad.array(), 1, selection);
  return record("SpreadBackward", out, {grad}, {positions},
                [selection](const BackwardContext& c) -> Grads {
                  return {take("IndexBackward", c.grad(), c.saved(0), selection)};
                });
}

namespace {

/// A copy of x with zeros at the positions.
Tensor without(const Tensor& x, const Tensor& positions, const Selection& selection) {
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::copy(out.array(), x.array());
  Tensor zeros = empty_like_array({}, x);
  kernels::zero(zeros.array());
  Dims sizes = selected_sizes(x.sizes(), positions.sizes(), selection);
  kernels::put(out.array(), positions.array(), zeros.expand(sizes).array(), selection);
  return record("IndexFillBackward", out, {x}, {positions},
                [selection](const BackwardContext& c) -> Grads {
                  return {without(c.grad(), c.saved(0), selection)};
                });
}

}  // namespace

Tensor written(const char* name, const Tensor& x, const Tensor& positions,
               const Selection& selection, const Tensor& values, bool accumulate, double alpha) {
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::copy(out.array(), x.array());
  if (accumulate) {
    kernels::add_at(out.array(), positions.array(), values.array(), alpha, selection);
  } else {
    kernels::put(out.array(), positions.array(), values.array(), selection);
  }
  return record(name, out, {x, values}, {positions},
                [selection, accumulate, alpha](const BackwardContext& c) -> Grads {
                  Grads grads(2);
                  Tensor at = c.saved(0);
                  if (c.needs(0))
                    grads[0] = accumulate ? c.grad() : without(c.grad(), at, selection);
                  if (c.needs(1)) {
                    grads[1] = take("IndexBackward", c.grad(), at, selection);
                    if (alpha != 1) grads[1] = grads[1] * alpha;
                  }
                  return grads;
                });
}

}  // namespace farro::autograd
