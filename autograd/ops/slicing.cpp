#include <algorithm>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/runs.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;
using autograd::record_view;

namespace {

/// Zeros of the base's sizes with `grad` where the view lies: the gradient of a view that skips
/// elements.
template <class View>
Tensor embed(const char* name, const Tensor& grad, const Dims& base_sizes, const View& view) {
  Tensor out = empty_like_array(base_sizes, grad);
  kernels::zero(out.array());
  kernels::copy(view(out.detach()).array(), grad.array());
  return record(name, out, {grad}, {},
                [view](const BackwardContext& c) -> Grads { return {view(c.grad())}; });
}

/// x with another geometry that begins `shift` elements after its first one; `view` makes the same
/// view of any tensor.
template <class View>
Tensor partial_view(const char* name, const char* embed_name, const Tensor& x, const Dims& sizes,
                    const Dims& strides, int64_t shift, const View& view) {
  Tensor out = alias(x, sizes, strides, kernels::at(x.data_ptr(), x.dtype(), shift));
  return record_view(name, x, out,
                     [embed_name, view, base = x.sizes()](const BackwardContext& c) -> Grads {
                       return {embed(embed_name, c.grad(), base, view)};
                     });
}

int checked_dim(const Tensor& x, int64_t dim, const char* operation) {
  if (x.dim() == 0) fail<IndexError>(operation, "expected at least 1 dimension, got a 0-d tensor");
  return wrap_dim(dim, x.dim(), operation);
}

/// An index of a dimension, negative ones from its end; not beyond its borders.
int64_t clip(std::optional<int64_t> index, int64_t fallback, int64_t size) {
  int64_t i = index.value_or(fallback);
  return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
}

}  // namespace

Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> stop, int64_t step) {
  int d = checked_dim(x, dim, "slice");
  if (step < 1) fail<ValueError>("slice", "expected a step of at least 1, got {}", step);
  int64_t size = x.sizes()[d], first = clip(start, 0, size), end = clip(stop, size, size);
  Dims sizes = x.sizes(), strides = x.strides();
  sizes[d] = end > first ? (end - first - 1) / step + 1 : 0;
  int64_t shift = sizes.product() > 0 ? first * strides[d] : 0;
  strides[d] *= step;
  return partial_view("SliceBackward", "SliceBackwardBackward", x, sizes, strides, shift,
                      [=](const Tensor& t) { return slice(t, d, first, end, step); });
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  int d = checked_dim(x, dim, "narrow");
  int64_t size = x.sizes()[d], first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first + length > size) {
    fail<IndexError>(
        "narrow",
        "expected a range within the {} entries of dimension {}, got start {} and length {}", size,
        d, start, length);
  }
  return slice(x, d, first, first + length);
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  int d = checked_dim(x, dim, "select");
  int64_t size = x.sizes()[d], i = index < 0 ? index + size : index;
  if (i < 0 || i >= size) {
    fail<IndexError>("select", "expected an index in [{}, {}) of dimension {} of shape {}, got {}",
                     -size, size, d, to_string(x.sizes()), index);
  }
  Dims sizes = x.sizes(), strides = x.strides();
  int64_t shift = i * strides[d];
  sizes.erase(d);
  strides.erase(d);
  return partial_view("SelectBackward", "SelectBackwardBackward", x, sizes, strides,
                      sizes.product() > 0 ? shift : 0,
                      [=](const Tensor& t) { return select(t, d, i); });
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  int a = checked_dim(x, dim1, "diagonal"), b = checked_dim(x, dim2, "diagonal");
  if (a == b)
    fail<ShapeError>("diagonal", "expected two different dimensions, got {} and {}", dim1, dim2);
  Dims sizes = x.sizes(), strides = x.strides();
  int64_t length =
      offset >= 0 ? std::min(sizes[a], sizes[b] - offset) : std::min(sizes[a] + offset, sizes[b]);
  int64_t shift = offset >= 0 ? offset * strides[b] : -offset * strides[a];
  int64_t step = strides[a] + strides[b];
  for (int d : {std::max(a, b), std::min(a, b)}) {
    sizes.erase(d);
    strides.erase(d);
  }
  sizes.push_back(std::max<int64_t>(length, 0));
  strides.push_back(step);
  return partial_view("DiagonalBackward", "DiagonalBackwardBackward", x, sizes, strides,
                      sizes.product() > 0 ? shift : 0,
                      [=](const Tensor& t) { return diagonal(t, offset, a, b); });
}

namespace {

/// Several views of x that cover it, as outputs of one node. `join` puts their gradients together
/// again.
template <class Join>
std::vector<Tensor> cover(const char* name, const Tensor& x, std::vector<Tensor> pieces,
                          const Join& join) {
  for (const Tensor& piece : pieces) autograd::mark_view(piece, x, true);
  std::vector<Dims> sizes;
  if (autograd::any_requires_grad(x)) {
    for (const Tensor& piece : pieces) sizes.push_back(piece.sizes());
  }
  record(name, pieces, {x}, {},
         [sizes, join, dtype = x.dtype(), device = x.device()](const BackwardContext& c) -> Grads {
           std::vector<Tensor> grads;
           for (size_t i = 0; i < sizes.size(); ++i) {
             grads.push_back(c.grad(i).defined()
                                 ? c.grad(i)
                                 : zeros(sizes[i], {.dtype = dtype, .device = device}));
           }
           return {join(grads)};
         });
  return pieces;
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, IntList sizes, int64_t dim) {
  int d = checked_dim(x, dim, "split");
  int64_t total = 0;
  bool negative = false;
  for (int64_t size : sizes) {
    total += size;
    negative = negative || size < 0;
  }
  if (negative || total != x.sizes()[d]) {
    fail<ShapeError>("split", "expected sizes that add up to {}, the size of dimension {}, got {}",
                     x.sizes()[d], d, to_string(sizes));
  }
  std::vector<Tensor> pieces;
  int64_t start = 0;
  Tensor base = x.detach();
  for (int64_t size : sizes) {
    pieces.push_back(narrow(base, d, start, size).detach());
    start += size;
  }
  return cover("SplitBackward", x, std::move(pieces),
               [d](const std::vector<Tensor>& grads) { return cat(grads, d); });
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  int d = checked_dim(x, dim, "split");
  int64_t total = x.sizes()[d];
  if (size < 0 || (size == 0 && total > 0))
    fail<ValueError>("split", "expected a size above 0, got {}", size);
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < total; start += size)
    sizes.push_back(std::min(size, total - start));
  if (sizes.empty()) sizes.push_back(0);
  return split(x, IntList(sizes), d);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  int d = checked_dim(x, dim, "chunk");
  if (chunks < 1) fail<ValueError>("chunk", "expected at least 1 chunk, got {}", chunks);
  int64_t size = (x.sizes()[d] + chunks - 1) / chunks;
  if (size == 0) return split(x, std::vector<int64_t>(static_cast<size_t>(chunks), 0), d);
  return split(x, size, d);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  int d = checked_dim(x, dim, "unbind");
  std::vector<Tensor> pieces;
  Tensor base = x.detach();
  for (int64_t i = 0; i < x.sizes()[d]; ++i) pieces.push_back(select(base, d, i).detach());
  return cover("UnbindBackward", x, std::move(pieces),
               [d](const std::vector<Tensor>& grads) { return stack(grads, d); });
}

namespace {

/// Sizes, strides and the place of the first element in the storage.
struct Geometry {
  Dims sizes, strides;
  int64_t offset = 0;

  /// One past the last element of the storage that is reached.
  int64_t end() const {
    int64_t last = offset;
    for (int d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0) return 0;
      last += (sizes[d] - 1) * strides[d];
    }
    return last + 1;
  }
};

/// False only if surely no two indices lead to the same element.
bool may_overlap(const Geometry& g) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int d = 0; d < g.sizes.size(); ++d) {
    if (g.sizes[d] > 1) dims.emplace_back(g.strides[d], g.sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

/// Positions in the storage, in row-major order of the geometry.
Tensor positions(const Geometry& g, int64_t storage_size, Device device) {
  Tensor all = arange(storage_size, {.device = device});
  return alias(all, g.sizes, g.strides, all.data<int64_t>() + g.offset).reshape({-1});
}

/// Adds the gradient up in a storage that both geometries reach, and reads that as the input does.
/// Where several elements of the input share a place, each gets an equal share.
Tensor as_strided_backward(const Tensor& grad, Geometry in, Geometry out) {
  int64_t first = std::min(in.offset, out.offset);
  in.offset -= first;
  out.offset -= first;
  int64_t size = std::max({in.end(), out.end(), int64_t{0}});
  Tensor sum = zeros({size}, {.dtype = grad.dtype(), .device = grad.device()});
  if (grad.numel() > 0) {
    sum = may_overlap(out) || grad.requires_grad()
              ? index_add(sum, 0, positions(out, size, grad.device()), reshape(grad, {-1}))
              : (kernels::copy(alias(sum, out.sizes, out.strides,
                                     kernels::at(sum.data_ptr(), sum.dtype(), out.offset))
                                   .array(),
                               grad.array()),
                 sum);
  }
  if (may_overlap(in) && in.sizes.product() > 0) {
    Tensor where = positions(in, size, grad.device());
    Tensor shares =
        index_add(zeros_like(sum), 0, where,
                  ones({where.numel()}, {.dtype = grad.dtype(), .device = grad.device()}));
    Tensor read = index_select(sum, 0, where);
    return reshape(read / index_select(shares, 0, where), in.sizes);
  }
  return as_strided(sum, in.sizes, in.strides, in.offset);
}

}  // namespace

Tensor as_strided(const Tensor& x, IntList sizes, IntList strides,
                  std::optional<int64_t> storage_offset) {
  if (sizes.size() != strides.size()) {
    fail<ShapeError>("as_strided", "expected as many strides as sizes, got {} and {}",
                     to_string(strides), to_string(sizes));
  }
  Geometry in{x.sizes(), x.strides(), x.storage_offset()};
  Geometry out{Dims(sizes), Dims(strides), storage_offset.value_or(in.offset)};
  auto negative = [](int64_t v) { return v < 0; };
  int64_t available = static_cast<int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  if (std::ranges::any_of(sizes, negative) || std::ranges::any_of(strides, negative) ||
      out.offset < 0 || out.end() > available) {
    fail<ShapeError>(
        "as_strided",
        "expected a geometry within the {} elements of the storage, got sizes {}, strides {}, "
        "offset {}",
        available, to_string(sizes), to_string(strides), out.offset);
  }
  Tensor view =
      alias(x, out.sizes, out.strides, kernels::at(x.storage()->data(), x.dtype(), out.offset));
  return record_view("AsStridedBackward", x, view, [in, out](const BackwardContext& c) -> Grads {
    return {as_strided_backward(c.grad(), in, out)};
  });
}

}  // namespace farro
