#include <algorithm>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/runs.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;

namespace {

/// As record, for a number of inputs that is known at run time only.
template <class F>
Tensor record_list(const char* name, Tensor output, const std::vector<Tensor>& inputs, F backward) {
  bool any = std::ranges::any_of(inputs, [](const Tensor& t) { return t.requires_grad(); });
  if (!grad_mode_enabled() || !any) return output;
  IntrusivePtr<autograd::detail::RecordedNode<F>> node(
      new autograd::detail::RecordedNode<F>(name, 1, std::move(backward)));
  for (const Tensor& input : inputs) node->add_edge(autograd::gradient_edge(input));
  autograd::detail::attach(node, {}, std::span<const Tensor>(&output, 1));
  return output;
}

/// What cat leaves out: the 1-d tensor without elements.
bool is_nothing(const Tensor& x) { return x.dim() == 1 && x.numel() == 0; }

/// Entries [start, start + length) of dimension d of a freshly made tensor.
ArrayView part_of(const Tensor& x, int d, int64_t start, int64_t length) {
  ArrayView part = x.array();
  part.sizes[d] = length;
  part.data = kernels::at(part.data, part.dtype, start * part.strides[d]);
  return part;
}

/// What cat makes of the shapes; checks that they fit.
Dims joined_sizes(const std::vector<Tensor>& tensors, int64_t dim, const Tensor& first, int& d) {
  d = wrap_dim(dim, first.dim(), "cat");
  Dims sizes = first.sizes();
  sizes[d] = 0;
  for (const Tensor& x : tensors) {
    if (x.device() != first.device()) {
      fail<BackendError>("cat", "expected all tensors on {}, got one on {}", first.device().str(),
                         x.device().str());
    }
    if (is_nothing(x)) continue;
    bool fits = x.dim() == first.dim();
    for (int i = 0; fits && i < x.dim(); ++i) fits = i == d || x.sizes()[i] == first.sizes()[i];
    if (!fits) {
      fail<ShapeError>("cat", "expected shapes that differ in dimension {} only, got {} and {}", d,
                       to_string(first.sizes()), to_string(x.sizes()));
    }
    sizes[d] += x.sizes()[d];
  }
  return sizes;
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) fail<ValueError>("cat", "expected at least one tensor");
  DType dtype = tensors[0].dtype();
  const Tensor* first = nullptr;
  for (const Tensor& x : tensors) {
    if (x.dim() == 0)
      fail<ShapeError>("cat", "expected tensors of at least 1 dimension, got a 0-d one");
    dtype = promote(dtype, x.dtype());
    if (!first && !is_nothing(x)) first = &x;
  }
  int d = 0;
  Dims sizes = joined_sizes(tensors, dim, first ? *first : tensors[0], d);
  Tensor out = empty(sizes, dtype, tensors[0].device());
  std::vector<std::pair<int64_t, DType>>
      parts;  // length and dtype of each input; -1 for one that was left out
  int64_t start = 0;
  for (const Tensor& x : tensors) {
    int64_t length = is_nothing(x) && first && first->dim() != 1 ? -1 : x.sizes()[d];
    parts.emplace_back(length, x.dtype());
    if (length <= 0) continue;
    kernels::copy(part_of(out, d, start, length), x.array());
    start += length;
  }
  return record_list("CatBackward", out, tensors, [d, parts](const BackwardContext& c) -> Grads {
    Grads grads(parts.size());
    int64_t at = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      auto [length, type] = parts[i];
      if (c.needs(i)) {
        grads[i] = to(length < 0 ? zeros({0}, {.dtype = type, .device = c.grad().device()})
                                 : narrow(c.grad(), d, at, length),
                      type);
      }
      at += std::max<int64_t>(length, 0);
    }
    return grads;
  });
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) fail<ValueError>("stack", "expected at least one tensor");
  const Tensor& first = tensors[0];
  int d = wrap_dim(dim, first.dim() + 1, "stack");
  Dims sizes = first.sizes();
  sizes.insert(d, static_cast<int64_t>(tensors.size()));
  std::vector<DType> dtypes;
  DType dtype = first.dtype();
  for (const Tensor& x : tensors) {
    if (x.sizes() != first.sizes()) {
      fail<ShapeError>("stack", "expected tensors of one shape, got {} and {}",
                       to_string(first.sizes()), to_string(x.sizes()));
    }
    if (x.device() != first.device()) {
      fail<BackendError>("stack", "expected all tensors on {}, got one on {}", first.device().str(),
                         x.device().str());
    }
    dtype = promote(dtype, x.dtype());
    dtypes.push_back(x.dtype());
  }
  Tensor out = empty(sizes, dtype, first.device());
  for (size_t i = 0; i < tensors.size(); ++i) {
    ArrayView part = part_of(out, d, static_cast<int64_t>(i), 1);
    part.sizes.erase(d);
    part.strides.erase(d);
    kernels::copy(part, tensors[i].array());
  }
  return record_list("StackBackward", out, tensors, [d, dtypes](const BackwardContext& c) -> Grads {
    Grads grads(dtypes.size());
    for (size_t i = 0; i < dtypes.size(); ++i) {
      if (c.needs(i)) grads[i] = to(select(c.grad(), d, static_cast<int64_t>(i)), dtypes[i]);
    }
    return grads;
  });
}

Tensor flip(const Tensor& x, IntList dims) {
  ArrayView from = x.array();
  bool seen[kMaxDims] = {};
  Dims wrapped;
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, x.dim(), "flip");
    if (seen[d]) fail<ShapeError>("flip", "expected each dimension once, got {}", to_string(dims));
    seen[d] = true;
    wrapped.push_back(d);
    if (x.dim() == 0 || x.numel() == 0) continue;
    from.data = kernels::at(from.data, from.dtype, (from.sizes[d] - 1) * from.strides[d]);
    from.strides[d] = -from.strides[d];
  }
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::copy(out.array(), from);
  return record("FlipBackward", out, {x}, {},
                [wrapped](const BackwardContext& c) -> Grads { return {flip(c.grad(), wrapped)}; });
}

namespace {

/// Rolls one dimension.
Tensor roll_once(const Tensor& x, int64_t shift, int d) {
  int64_t size = x.sizes()[d];
  if (x.numel() == 0) return clone(x);
  shift = ((shift % size) + size) % size;
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::copy(part_of(out, d, shift, size - shift), part_of(x, d, 0, size - shift));
  kernels::copy(part_of(out, d, 0, shift), part_of(x, d, size - shift, shift));
  return record("RollBackward", out, {x}, {}, [shift, d](const BackwardContext& c) -> Grads {
    return {roll_once(c.grad(), -shift, d)};
  });
}

}  // namespace

Tensor roll(const Tensor& x, IntList shifts, IntList dims) {
  if (dims.empty() && shifts.size() == 1)
    return reshape(roll(reshape(x, {-1}), shifts, IntList{0}), x.sizes());
  if (dims.size() != shifts.size()) {
    fail<ShapeError>("roll", "expected as many shifts as dimensions, got {} and {}",
                     to_string(shifts), to_string(dims));
  }
  for (int64_t dim : dims) wrap_dim(dim, x.dim(), "roll");
  if (dims.empty() || x.dim() == 0) return clone(x);
  Tensor result = x;
  for (size_t i = 0; i < dims.size(); ++i)
    result = roll_once(result, shifts[i], wrap_dim(dims[i], x.dim(), "roll"));
  return result;
}

namespace {

/// Repeats dimension d as a whole (abab), or each of its entries (aabb).
Tensor repeat_dim(const Tensor& x, int d, int64_t repeats, bool each) {
  Dims sizes = x.sizes();
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < d; ++i) outer *= sizes[i];
  for (int i = d + 1; i < x.dim(); ++i) inner *= sizes[i];
  (each ? outer : inner) *= sizes[d];
  sizes[d] *= repeats;
  Tensor blocks = reshape(x, {outer, 1, inner});
  return reshape(expand(blocks, {outer, repeats, inner}), sizes);
}

}  // namespace

Tensor repeat(const Tensor& x, IntList repeats) {
  int lead = repeats.ndim() - x.dim();
  bool negative = std::ranges::any_of(repeats, [](int64_t r) { return r < 0; });
  if (lead < 0 || negative) {
    fail<ShapeError>("repeat", "expected at least {} numbers, none negative, got {}", x.dim(),
                     to_string(repeats));
  }
  Dims sizes;
  for (int i = 0; i < lead; ++i) sizes.push_back(1);
  for (int64_t size : x.sizes()) sizes.push_back(size);
  Tensor result = reshape(x, sizes);
  for (int d = sizes.size() - 1; d >= 0; --d) {
    int64_t r = repeats[static_cast<size_t>(d)];
    if (r != 1) result = repeat_dim(result, d, r, false);
  }
  return result.storage() == x.storage() ? clone(result) : result;
}

Tensor tile(const Tensor& x, IntList repeats) {
  Dims all;
  for (int i = repeats.ndim(); i < x.dim(); ++i) all.push_back(1);
  for (int64_t r : repeats) all.push_back(r);
  return repeat(x, all);
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim) {
  if (repeats < 0)
    fail<ValueError>("repeat_interleave", "expected a number of at least 0, got {}", repeats);
  if (!dim || x.dim() == 0) return contiguous(repeat_dim(reshape(x, {-1}), 0, repeats, true));
  Tensor result = repeat_dim(x, wrap_dim(*dim, x.dim(), "repeat_interleave"), repeats, true);
  return result.storage() == x.storage() ? clone(result) : result;
}

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim) {
  Tensor flat = dim && x.dim() > 0 ? x : reshape(x, {-1});
  int d = dim && x.dim() > 0 ? wrap_dim(*dim, x.dim(), "repeat_interleave") : 0;
  if (is_floating_point(repeats.dtype()) || repeats.dtype() == kBool) {
    fail<TypeError>("repeat_interleave", "expected integers, got {}", name_of(repeats.dtype()));
  }
  Tensor counts = expand(repeats, {flat.sizes()[d]});
  std::vector<int64_t> entries;
  int64_t i = 0;
  for (double count : counts.to_vector()) {
    if (count < 0)
      fail<ValueError>("repeat_interleave", "expected numbers of at least 0, got {}", count);
    entries.insert(entries.end(), static_cast<size_t>(count), i++);
  }
  return index_select(flat, d, tensor(entries, {.device = x.device()}));
}

}  // namespace farro
