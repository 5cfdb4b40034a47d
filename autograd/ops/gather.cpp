#include <algorithm>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/index_positions.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/kernels/copy.hpp>

namespace farro {

using kernels::Selection;

namespace {

/// 0-d tensors are indexed as vectors of one element.
Tensor at_least_1d(const Tensor& x) { return x.dim() == 0 ? reshape(x, {1}) : x; }

/// Positions along one dimension from a 1-d or 0-d index.
Tensor entry_positions(const Tensor& index, const Tensor& x, int dim, const char* operation) {
  if (index.dim() > 1) {
    fail<ShapeError>(operation, "expected an index of at most 1 dimension, got shape {}",
                     to_string(index.sizes()));
  }
  Tensor usable = reshape(autograd::usable_index(index, x, operation), {-1});
  return autograd::combine_positions(std::span<const Tensor>(&usable, 1), {x.sizes()[dim]},
                                     operation);
}

/// TypeError unless the source has x's dtype; a C++ number takes it.
Tensor matching_source(const Tensor& source, const Tensor& x, const char* operation) {
  if (source.impl()->wrapped_number) return to(source, x.device(), x.dtype());
  if (source.dtype() != x.dtype()) {
    fail<TypeError>(operation, "expected a source of {}, got {}", name_of(x.dtype()),
                    name_of(source.dtype()));
  }
  return source;
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  int d = wrap_dim(dim, x.dim(), "index_select");
  Tensor vector = at_least_1d(x);
  Tensor out = autograd::take("IndexSelectBackward", vector,
                              entry_positions(index, vector, d, "index_select"), {d, 1, 1});
  return x.dim() == 0 && out.numel() == 1 ? reshape(out, {}) : out;
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha) {
  int d = wrap_dim(dim, x.dim(), "index_add");
  Tensor vector = at_least_1d(x);
  Tensor positions = entry_positions(index, vector, d, "index_add");
  Tensor values = at_least_1d(matching_source(source, x, "index_add"));
  Dims sizes = autograd::selected_sizes(vector.sizes(), positions.sizes(), {d, 1, 1});
  if (values.sizes() != sizes) {
    fail<ShapeError>("index_add", "expected a source of shape {}, got {}", to_string(sizes),
                     to_string(source.sizes()));
  }
  Tensor out =
      autograd::written("IndexAddBackward", vector, positions, {d, 1, 1}, values, true, alpha);
  return x.dim() == 0 ? reshape(out, {}) : out;
}

namespace {

/// ShapeError unless index has x's number of dimensions and is nowhere larger, except along `dim`.
void check_gather_shapes(const Tensor& x, const Tensor& index, int dim, const char* operation) {
  bool fits = x.dim() == index.dim();
  for (int d = 0; fits && d < x.dim(); ++d) fits = d == dim || index.sizes()[d] <= x.sizes()[d];
  if (!fits && index.numel() > 0) {
    fail<ShapeError>(operation,
                     "expected an index within shape {} except along dimension {}, got {}",
                     to_string(x.sizes()), dim, to_string(index.sizes()));
  }
}

/// The first entries of each dimension, as many as the index has.
Tensor leading_part(const Tensor& source, const Dims& sizes, const char* operation) {
  if (source.dim() == 0) return expand(source, sizes);
  bool fits = source.dim() == sizes.size();
  for (int d = 0; fits && d < source.dim(); ++d) fits = sizes[d] <= source.sizes()[d];
  if (!fits) {
    fail<ShapeError>(operation, "expected a source of at least shape {}, got {}", to_string(sizes),
                     to_string(source.sizes()));
  }
  Tensor part = source;
  for (int d = 0; d < source.dim(); ++d) {
    if (sizes[d] < source.sizes()[d]) part = slice(part, d, 0, sizes[d]);
  }
  return part;
}

Tensor scatter_with(const char* operation, const char* node, const Tensor& x, int64_t dim,
                    const Tensor& index, const Tensor& source, bool accumulate) {
  int d = wrap_dim(dim, x.dim(), operation);
  Tensor self = at_least_1d(x), where = at_least_1d(autograd::usable_index(index, x, operation));
  Tensor values = matching_source(source, x, operation);
  if (values.dim() == 0 && !source.impl()->wrapped_number) values = at_least_1d(values);
  if (where.numel() == 0) return clone(x);
  check_gather_shapes(self, where, d, operation);
  values = leading_part(values, where.sizes(), operation);
  Tensor positions = autograd::gather_positions(where, self, d, operation);
  Tensor out = autograd::written(node, self, positions, {0, self.dim(), positions.dim()}, values,
                                 accumulate, 1);
  return x.dim() == 0 ? reshape(out, {}) : out;
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  int d = wrap_dim(dim, x.dim(), "gather");
  Tensor self = at_least_1d(x), where = at_least_1d(autograd::usable_index(index, x, "gather"));
  check_gather_shapes(self, where, d, "gather");
  if (self.dim() != where.dim())
    return reshape(slice(reshape(x, {-1}), 0, 0, 0), index.sizes());  // an empty index
  Tensor positions = autograd::gather_positions(where, self, d, "gather");
  Tensor out = autograd::take("GatherBackward", self, positions, {0, self.dim(), positions.dim()});
  return index.dim() == 0 ? reshape(out, {}) : out;
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return scatter_with("scatter", "ScatterBackward", x, dim, index, source, false);
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return scatter_with("scatter_add", "ScatterAddBackward", x, dim, index, source, true);
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  if (!dim) return gather(reshape(x, {-1}), 0, reshape(index, {-1}));
  if (x.dim() != index.dim()) {
    fail<ShapeError>("take_along_dim", "expected an index of {} dimensions, got shape {}", x.dim(),
                     to_string(index.sizes()));
  }
  int d = wrap_dim(*dim, x.dim(), "take_along_dim");
  Dims x_sizes = x.sizes(), index_sizes = index.sizes();
  if (x.dim() > 0) x_sizes[d] = index_sizes[d] = 1;
  Dims common = broadcast_shapes(x_sizes, index_sizes, "take_along_dim");
  x_sizes = index_sizes = common;
  if (x.dim() > 0) {
    x_sizes[d] = x.sizes()[d];
    index_sizes[d] = index.sizes()[d];
  }
  return gather(expand(x, x_sizes), d, expand(index, index_sizes));
}

Tensor embedding(const Tensor& weight, const Tensor& index) {
  if (weight.dim() != 2) {
    fail<ShapeError>("embedding", "expected a weight of 2 dimensions, got shape {}",
                     to_string(weight.sizes()));
  }
  Tensor usable = autograd::usable_index(index, weight, "embedding");
  Tensor positions = autograd::combine_positions(std::span<const Tensor>(&usable, 1),
                                                 {weight.sizes()[0]}, "embedding");
  return autograd::take("EmbeddingBackward", weight, positions, {0, 1, positions.dim()});
}

Tensor one_hot(const Tensor& x, std::optional<int64_t> classes) {
  Tensor index = autograd::usable_index(x, x, "one_hot");
  int64_t count = classes.value_or(0);
  if (!classes) {
    for (double entry : index.to_vector()) count = std::max(count, static_cast<int64_t>(entry) + 1);
  }
  for (double entry : index.to_vector()) {
    if (entry < 0 || entry >= static_cast<double>(count)) {
      fail<IndexError>("one_hot", "expected entries in [0, {}), got {}", count,
                       static_cast<int64_t>(entry));
    }
  }
  Dims sizes = x.sizes();
  sizes.push_back(count);
  Tensor out = zeros(sizes, {.dtype = kInt64, .device = x.device()});
  if (x.numel() == 0) return out;
  Tensor positions =
      autograd::gather_positions(contiguous(unsqueeze(index, -1)), out, x.dim(), "one_hot");
  Tensor one = expand(scalar_tensor(1, {.device = x.device()}), positions.sizes());
  kernels::put(out.array(), positions.array(), one.array(), {0, out.dim(), positions.dim()});
  return out;
}

}  // namespace farro
