#include <farro/autograd/ops/shape.hpp>

#include <algorithm>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/record.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record_view;

namespace {

/// Replaces a -1 by what is left of `numel`.
Dims infer_size(IntList sizes, int64_t numel, const char* operation) {
  Dims result(sizes);
  int unknown = -1;
  int64_t known = 1;
  for (int d = 0; d < result.size(); ++d) {
    if (result[d] == -1) {
      if (unknown >= 0)
        fail<ShapeError>(operation, "expected at most one -1, got {}", to_string(sizes));
      unknown = d;
    } else if (result[d] < 0) {
      fail<ShapeError>(operation, "expected sizes of at least 0 and at most one -1, got {}",
                       to_string(sizes));
    } else {
      known *= result[d];
    }
  }
  bool divides = known > 0 && numel % known == 0;
  if (unknown >= 0 && divides) result[unknown] = numel / known;
  if (unknown >= 0 ? !divides : known != numel) {
    fail<ShapeError>(operation, "expected a shape of {} elements, got {}", numel, to_string(sizes));
  }
  return result;
}

/// Strides with which x's memory reads as `sizes`, if there are any.
std::optional<Dims> strides_of_view(const Tensor& x, const Dims& sizes) {
  if (x.is_contiguous()) return contiguous_strides(sizes);
  const Dims& old_sizes = x.sizes();
  const Dims& old_strides = x.strides();
  Dims strides(sizes.size(), 1);
  // From the end, groups of old dimensions that lie in one stretch are matched with groups of new
  // ones.
  int d = sizes.size() - 1;
  int64_t stretch = 1, covered = 1;
  int64_t base = x.dim() > 0 ? old_strides.back() : 1;
  for (int o = x.dim() - 1; o >= 0; --o) {
    stretch *= old_sizes[o];
    bool breaks = o == 0 || (old_sizes[o - 1] != 1 && old_strides[o - 1] != stretch * base);
    if (!breaks) continue;
    while (d >= 0 && (covered < stretch || sizes[d] == 1)) {
      strides[d] = covered * base;
      covered *= sizes[d];
      --d;
    }
    if (covered != stretch) return {};
    if (o > 0) {
      base = old_strides[o - 1];
      stretch = covered = 1;
    }
  }
  if (d >= 0) return {};
  return strides;
}

Tensor view_as_sizes(const char* name, const Tensor& x, const Dims& sizes, const Dims& strides) {
  return record_view(name, x, alias(x, sizes, strides, x.data_ptr()),
                     [sizes = x.sizes()](const BackwardContext& c) -> Grads {
                       return {reshape(c.grad(), sizes)};
                     });
}

}  // namespace

Tensor view(const Tensor& x, IntList sizes) {
  Dims target = infer_size(sizes, x.numel(), "view");
  std::optional<Dims> strides = strides_of_view(x, target);
  if (!strides) {
    fail<ShapeError>(
        "view",
        "a tensor of shape {} and strides {} can't be seen as {} without a copy; use reshape",
        to_string(x.sizes()), to_string(x.strides()), to_string(target));
  }
  return view_as_sizes("ViewBackward", x, target, *strides);
}

Tensor reshape(const Tensor& x, IntList sizes) {
  Dims target = infer_size(sizes, x.numel(), "reshape");
  if (std::optional<Dims> strides = strides_of_view(x, target)) {
    return view_as_sizes("ViewBackward", x, target, *strides);
  }
  return view_as_sizes("ViewBackward", clone(x), target, contiguous_strides(target));
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  int start = wrap_dim(start_dim, x.dim(), "flatten"), end = wrap_dim(end_dim, x.dim(), "flatten");
  if (start > end) {
    fail<ShapeError>("flatten", "expected start_dim not after end_dim, got {} and {}", start_dim,
                     end_dim);
  }
  if (x.dim() == 0) return reshape(x, {1});
  if (start == end) return x;
  Dims sizes;
  for (int d = 0; d < x.dim(); ++d) {
    if (d > start && d <= end) {
      sizes[start] *= x.sizes()[d];
    } else {
      sizes.push_back(x.sizes()[d]);
    }
  }
  return reshape(x, sizes);
}

Tensor unflatten(const Tensor& x, int64_t dim, IntList sizes) {
  int at = wrap_dim(dim, x.dim(), "unflatten");
  if (sizes.empty() || x.dim() == 0) {
    fail<ShapeError>("unflatten",
                     "expected a dimension and at least one size, got shape {} and sizes {}",
                     to_string(x.sizes()), to_string(sizes));
  }
  Dims parts = infer_size(sizes, x.sizes()[at], "unflatten");
  Dims all(x.dim() - 1 + parts.size(), 0), strides = all;
  int64_t inner = x.strides()[at];
  for (int i = parts.size() - 1; i >= 0; --i) {
    all[at + i] = parts[i];
    strides[at + i] = inner;
    inner *= std::max<int64_t>(parts[i], 1);
  }
  for (int d = 0; d < x.dim(); ++d) {
    if (d == at) continue;
    int to = d < at ? d : d + parts.size() - 1;
    all[to] = x.sizes()[d];
    strides[to] = x.strides()[d];
  }
  return view_as_sizes("ViewBackward", x, all, strides);
}

namespace {

Tensor squeeze_marked(const Tensor& x, const bool* marked) {
  Dims sizes, strides;
  for (int d = 0; d < x.dim(); ++d) {
    if (marked[d] && x.sizes()[d] == 1) continue;
    sizes.push_back(x.sizes()[d]);
    strides.push_back(x.strides()[d]);
  }
  return view_as_sizes("SqueezeBackward", x, sizes, strides);
}

}  // namespace

Tensor squeeze(const Tensor& x) {
  bool all[kMaxDims];
  std::fill_n(all, kMaxDims, true);
  return squeeze_marked(x, all);
}

Tensor squeeze(const Tensor& x, int64_t dim) { return squeeze(x, IntList{dim}); }

Tensor squeeze(const Tensor& x, IntList dims) {
  bool marked[kMaxDims] = {};
  for (int64_t d : dims) marked[wrap_dim(d, x.dim(), "squeeze")] = true;
  return squeeze_marked(x, marked);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  int at = wrap_dim(dim, x.dim() + 1, "unsqueeze");
  Dims sizes = x.sizes(), strides = x.strides();
  sizes.insert(at, 1);
  strides.insert(at, at < x.dim() ? x.sizes()[at] * x.strides()[at] : 1);
  return view_as_sizes("UnsqueezeBackward", x, sizes, strides);
}

namespace {

/// `order` holds each dimension once.
Tensor permuted(const char* name, const Tensor& x, const Dims& order) {
  Dims sizes = order, strides = order, inverse = order;
  for (int i = 0; i < order.size(); ++i) {
    int d = static_cast<int>(order[i]);
    sizes[i] = x.sizes()[d];
    strides[i] = x.strides()[d];
    inverse[d] = i;
  }
  return record_view(
      name, x, alias(x, sizes, strides, x.data_ptr()),
      [inverse](const BackwardContext& c) -> Grads { return {permute(c.grad(), inverse)}; });
}

Dims identity_order(int n) {
  Dims order(n, 0);
  for (int d = 0; d < n; ++d) order[d] = d;
  return order;
}

/// Non-negative dimensions, each at most once.
Dims distinct_dims(IntList dims, int ndim, const char* operation) {
  Dims result;
  bool seen[kMaxDims] = {};
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, ndim, operation);
    if (seen[d])
      fail<ShapeError>(operation, "expected each dimension once, got {}", to_string(dims));
    seen[d] = true;
    result.push_back(d);
  }
  return result;
}

}  // namespace

Tensor permute(const Tensor& x, IntList dims) {
  if (dims.ndim() != x.dim()) {
    fail<ShapeError>("permute", "expected {} dimensions, got {}", x.dim(), to_string(dims));
  }
  return permuted("PermuteBackward", x, distinct_dims(dims, x.dim(), "permute"));
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  int a = wrap_dim(dim0, x.dim(), "transpose"), b = wrap_dim(dim1, x.dim(), "transpose");
  Dims order = identity_order(x.dim());
  if (x.dim() > 0) std::swap(order[a], order[b]);
  return permuted("TransposeBackward", x, order);
}

Tensor t(const Tensor& x) {
  if (x.dim() > 2)
    fail<ShapeError>("t", "expected at most 2 dimensions, got shape {}", to_string(x.sizes()));
  Dims order = identity_order(x.dim());
  if (x.dim() == 2) std::swap(order[0], order[1]);
  return permuted("TBackward", x, order);
}

Tensor movedim(const Tensor& x, IntList from, IntList to) {
  if (from.size() != to.size()) {
    fail<ShapeError>("movedim", "expected as many sources as targets, got {} and {}",
                     to_string(from), to_string(to));
  }
  Dims source = distinct_dims(from, x.dim(), "movedim"),
       target = distinct_dims(to, x.dim(), "movedim");
  Dims order(x.dim(), -1);
  bool moved[kMaxDims] = {};
  for (int i = 0; i < source.size() && x.dim() > 0; ++i) {
    order[static_cast<int>(target[i])] = source[i];
    moved[source[i]] = true;
  }
  int next = 0;
  for (int d = 0; d < x.dim(); ++d) {
    if (order[d] >= 0) continue;
    while (moved[next]) ++next;
    order[d] = next++;
  }
  return permuted("PermuteBackward", x, order);
}

Tensor expand(const Tensor& x, IntList sizes) {
  Dims target(sizes), strides(sizes.ndim(), 0);
  int lead = target.size() - x.dim();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < target.size(); ++d) {
    if (d < lead) {
      fits = target[d] >= 0;
      continue;
    }
    int64_t size = x.sizes()[d - lead];
    if (target[d] == -1) target[d] = size;
    fits = target[d] == size || (size == 1 && target[d] >= 0);
    strides[d] = size == 1 && target[d] != 1 ? 0 : x.strides()[d - lead];
  }
  if (!fits) {
    fail<ShapeError>("expand", "expected sizes that {} expands to, got {}", to_string(x.sizes()),
                     to_string(sizes));
  }
  return record_view("ExpandBackward", x, alias(x, target, strides, x.data_ptr()),
                     [sizes = x.sizes()](const BackwardContext& c) -> Grads {
                       return {autograd::sum_to_sizes(c.grad(), sizes)};
                     });
}

Tensor expand_as(const Tensor& x, const Tensor& other) { return expand(x, other.sizes()); }
Tensor broadcast_to(const Tensor& x, IntList sizes) { return expand(x, sizes); }

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  Dims sizes;
  for (const Tensor& tensor : tensors)
    sizes = broadcast_shapes(sizes, tensor.sizes(), "broadcast_tensors");
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(expand(tensor, sizes));
  return result;
}

}  // namespace farro
