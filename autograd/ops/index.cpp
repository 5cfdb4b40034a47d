#include <farro/autograd/ops/index.hpp>

#include <algorithm>
#include <vector>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index_positions.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/copy.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;
using kernels::Selection;

namespace {

/// One step of basic indexing, in numbers alone, so that backward can take it again.
struct Step {
  enum class Kind { Select, Slice, NewAxis, Permute } kind;
  int dim = 0;
  int64_t index = 0;
  Slice range{};
  Dims order{};
};

Tensor replay(const Tensor& x, const Step& step) {
  switch (step.kind) {
    case Step::Kind::Select:
      return select(x, step.dim, step.index);
    case Step::Kind::Slice:
      return slice(x, step.dim, step.range.start, step.range.stop, step.range.step);
    case Step::Kind::NewAxis:
      return unsqueeze(x, step.dim);
    case Step::Kind::Permute:
      return permute(x, step.order);
  }
  return x;
}

using Steps = std::vector<Step>;

Tensor replay(Tensor x, const Steps& steps) {
  for (const Step& step : steps) x = replay(x, step);
  return x;
}

/// An index list taken apart: basic steps first, then positions in what they leave, if there were
/// tensors.
struct Resolved {
  Steps steps;
  Tensor positions;
  Selection selection;
};

bool is_mask(const Tensor& t) { return t.dtype() == kBool || t.dtype() == kUInt8; }

/// How many dimensions an entry uses up; the ellipsis none by itself.
int dims_used(const Index& index) {
  switch (index.kind) {
    case Index::Kind::Integer:
    case Index::Kind::Slice:
      return 1;
    case Index::Kind::Tensor:
      return is_mask(index.tensor) ? index.tensor.dim() : 1;
    default:
      return 0;
  }
}

/// Walks an index list from left to right.
class Resolver {
 public:
  explicit Resolver(const Tensor& x) : view_(x.detach()) {}

  Resolved resolve(std::span<const Index> indices) {
    int used = 0;
    bool open = false;
    for (const Index& index : indices) {
      used += dims_used(index);
      if (index.kind != Index::Kind::Ellipsis) continue;
      if (open) fail<IndexError>("index", "expected at most one ellipsis");
      open = true;
    }
    if (used > view_.dim()) {
      fail<IndexError>("index", "expected at most {} indices for shape {}, got {}", view_.dim(),
                       to_string(view_.sizes()), used);
    }
    int rest = view_.dim() - used;
    for (const Index& index : indices) add(index, rest);
    if (!tensors_.empty()) finish();
    return std::move(result_);
  }

 private:
  void step(Step step) {
    view_ = replay(view_, step).detach();
    result_.steps.push_back(std::move(step));
  }

  void add(const Index& index, int rest) {
    switch (index.kind) {
      case Index::Kind::Integer:
        step({.kind = Step::Kind::Select, .dim = dim_, .index = index.integer});
        break;
      case Index::Kind::Slice:
        if (index.slice.start || index.slice.stop || index.slice.step != 1) {
          step({.kind = Step::Kind::Slice, .dim = dim_, .range = index.slice});
        }
        ++dim_;
        break;
      case Index::Kind::NewAxis:
        step({.kind = Step::Kind::NewAxis, .dim = dim_++});
        break;
      case Index::Kind::Ellipsis:
        dim_ += rest;
        break;
      case Index::Kind::Tensor:
        add_tensor(index.tensor);
        break;
    }
  }

  void add_tensor(const Tensor& tensor) {
    if (is_mask(tensor)) return add_mask(tensor);
    Tensor index = autograd::usable_index(tensor, view_, "index");
    if (index.dim() == 0)
      return step({.kind = Step::Kind::Select, .dim = dim_, .index = index.item_int()});
    push(index, 1, view_.sizes()[dim_]);
  }

  void add_mask(const Tensor& mask) {
    if (mask.dim() == 0) {
      step({.kind = Step::Kind::NewAxis, .dim = dim_});
      return push(to(autograd::nonzero_positions(mask), view_.device()), 1, 1);
    }
    for (int d = 0; d < mask.dim(); ++d) {
      if (mask.sizes()[d] != view_.sizes()[dim_ + d]) {
        fail<IndexError>("index", "expected a mask that fits shape {} from dimension {} on, got {}",
                         to_string(view_.sizes()), dim_, to_string(mask.sizes()));
      }
    }
    push(to(autograd::nonzero_positions(mask), view_.device()), mask.dim(), mask.numel());
  }

  /// `index` stands for `count` dimensions that hold `size` entries together.
  void push(const Tensor& index, int count, int64_t size) {
    tensors_.push_back(index);
    sizes_.push_back(size);
    for (int d = 0; d < count; ++d) indexed_.push_back(dim_ + d);
    dim_ += count;
  }

  /// Brings the indexed dimensions to the front unless they are neighbours.
  void finish() {
    int count = indexed_.size(), first = static_cast<int>(indexed_[0]);
    if (indexed_.back() - first + 1 != count) {
      Dims order = indexed_;
      for (int d = 0; d < view_.dim(); ++d) {
        if (std::find(indexed_.begin(), indexed_.end(), d) == indexed_.end()) order.push_back(d);
      }
      step({.kind = Step::Kind::Permute, .order = order});
      first = 0;
    }
    result_.positions = autograd::combine_positions(tensors_, sizes_, "index");
    result_.selection = {first, count, result_.positions.dim()};
  }

  Tensor view_;
  Resolved result_;
  int dim_ = 0;
  std::vector<Tensor> tensors_;
  Dims sizes_, indexed_;
};

/// What the index list reads from x.
Tensor read(const Tensor& x, const Steps& steps, const Tensor& positions,
            const Selection& selection) {
  Tensor view = replay(x, steps);
  return positions.defined() ? autograd::take("IndexBackward", view, positions, selection) : view;
}

/// Writes values, broadcast, to where the index list leads.
void write(const Tensor& x, const Resolved& at, const Tensor& values, bool accumulate) {
  Tensor view = replay(x.detach(), at.steps);
  if (!at.positions.defined()) {
    // One position: the whole view.
    if (!accumulate) return kernels::copy(view.array(), values.array());
    Tensor origin = zeros({1}, {.dtype = kInt64, .device = x.device()});
    Tensor spread_values = values.expand(view.sizes()).unsqueeze(0);
    return kernels::add_at(view.unsqueeze(0).array(), origin.array(), spread_values.array(), 1,
                           {0, 1, 1});
  }
  Dims sizes = autograd::selected_sizes(view.sizes(), at.positions.sizes(), at.selection);
  ArrayView source = values.expand(sizes).array();
  if (accumulate) {
    kernels::add_at(view.array(), at.positions.array(), source, 1, at.selection);
  } else {
    kernels::put(view.array(), at.positions.array(), source, at.selection);
  }
}

/// A copy of grad with zeros where the index list leads.
Tensor cleared(const Tensor& grad, const Resolved& at) {
  Tensor out = empty_like_array(grad.sizes(), grad);
  kernels::copy(out.array(), grad.array());
  write(out, at, zeros({}, {.dtype = grad.dtype(), .device = grad.device()}), false);
  return record("IndexFillBackward", out, {grad}, {at.positions},
                [steps = at.steps, selection = at.selection](const BackwardContext& c) -> Grads {
                  return {cleared(c.grad(), {steps, c.saved(0), selection})};
                });
}

}  // namespace

Tensor index(const Tensor& x, std::span<const Index> indices) {
  Resolved at = Resolver(x).resolve(indices);
  return read(x, at.steps, at.positions, at.selection);
}

void index_put_(const Tensor& x, std::span<const Index> indices, const Tensor& value,
                bool accumulate) {
  Resolved at = Resolver(x).resolve(indices);
  Tensor view = replay(x.detach(), at.steps);
  Dims sizes = at.positions.defined()
                   ? autograd::selected_sizes(view.sizes(), at.positions.sizes(), at.selection)
                   : view.sizes();
  autograd::check_broadcasts_to(value.sizes(), sizes, "index_put_");
  autograd::check_inplace(x, "index_put_", value.requires_grad());
  Tensor values = to(value.detach(), x.device(), x.dtype());
  write(x, at, values.storage() == x.storage() ? clone(values) : values, accumulate);
  autograd::InplaceChange change(x, value.requires_grad());
  record("IndexPutBackward", x, {x, value}, {at.positions},
         [steps = at.steps, selection = at.selection, accumulate, sizes = value.sizes(),
          dtype = value.dtype(), device = value.device()](const BackwardContext& c) -> Grads {
           Grads grads(2);
           Resolved again{steps, c.saved(0), selection};
           if (c.needs(0)) grads[0] = accumulate ? c.grad() : cleared(c.grad(), again);
           if (c.needs(1)) {
             Tensor part = read(c.grad(), steps, again.positions, selection);
             grads[1] = to(autograd::sum_to_sizes(part, sizes), device, dtype);
           }
           return grads;
         });
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != kBool)
    fail<TypeError>("masked_select", "expected a bool mask, got {}", name_of(mask.dtype()));
  Dims sizes = broadcast_shapes(x.sizes(), mask.sizes(), "masked_select");
  Tensor positions = to(autograd::nonzero_positions(expand(mask, sizes)), x.device());
  return autograd::take("MaskedSelectBackward", expand(x, sizes), positions, {0, sizes.size(), 1});
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  if (mask.dtype() != kBool)
    fail<TypeError>("masked_fill", "expected a bool mask, got {}", name_of(mask.dtype()));
  if (value.dim() != 0)
    fail<ShapeError>("masked_fill", "expected a 0-d value, got shape {}", to_string(value.sizes()));
  return where(mask, to(value, x.device(), x.dtype()), x);
}

Tensor nonzero(const Tensor& x) {
  Tensor positions = autograd::nonzero_positions(x);
  Tensor coordinates = empty({positions.numel(), x.dim()}, kInt64, x.device());
  kernels::unravel(coordinates.array(), positions.array(), x.sizes());
  return coordinates;
}

}  // namespace farro
