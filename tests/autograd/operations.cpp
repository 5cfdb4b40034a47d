#include <autograd/operations.hpp>

#include <algorithm>
#include <array>
#include <map>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise_list.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::test {
namespace {

Dims with_size(Dims sizes, int d, int64_t size) {
  sizes[d] = size;
  return sizes;
}

Dims swapped(Dims sizes) {
  std::swap(sizes[0], sizes[sizes.size() - 1]);
  return sizes;
}

/// The first index is the fastest, with a gap behind each column.
Dims strides_from_the_left(const Dims& sizes) {
  Dims strides = sizes;
  int64_t step = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    strides[d] = step;
    step = step * std::max<int64_t>(sizes[d], 1) + 1;
  }
  return strides;
}

using Preparation = std::function<Tensor(const Tensor&)>;

/// A function that prepares each of its inputs first.
TensorFunction after(const TensorFunction& f, std::vector<Preparation> preparations) {
  return [f, preparations = std::move(preparations)](const Inputs& x) {
    Inputs prepared;
    for (size_t i = 0; i < x.size(); ++i) prepared.push_back(preparations[i](x[i]));
    return f(prepared);
  };
}

/// The leaf behind an operand of the kinds that change it before the operation, and the change.
std::pair<Dims, Preparation> prepared(Kind kind, const Dims& sizes) {
  int last = sizes.size() - 1;
  if (kind == Kind::Transposed) {
    if (last > 0) return {swapped(sizes), [](const Tensor& x) { return x.transpose(0, -1); }};
    return {Dims{sizes[0], 2}, [](const Tensor& x) { return x.select(1, 1); }};
  }
  return {with_size(sizes, 0, 1), [sizes](const Tensor& x) { return expand(x, sizes); }};
}

Dims sizes_of(const Operand& operand, Kind kind) {
  switch (kind) {
    case Kind::ZeroD:
      return operand.zero_d;
    case Kind::Empty:
      return operand.empty;
    case Kind::One:
      return operand.one;
    case Kind::Broadcast:
      return operand.broadcast;
    default:
      return operand.odd;
  }
}

/// One operation has several structs of the same name (add with and without a factor).
std::string unique_name(const char* name, std::map<std::string, int>& used) {
  int n = ++used[name];
  return n == 1 ? name : std::string(name) + " " + std::to_string(n);
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array names = {"0-d",       "size 0",     "size 1",   "odd sizes",
                                "broadcast", "transposed", "expanded", "LayoutLeft"};
  return names[static_cast<size_t>(kind)];
}

Operand any(Domain domain) { return {{}, {0, 3}, {1, 1}, {3, 5}, domain}; }
Operand line(Domain domain) { return {{}, {0}, {1}, {5}, domain}; }
Operand of(const Dims& empty, const Dims& one, const Dims& odd, Domain domain) {
  return {{}, empty, one, odd, domain};
}

const Skip* Operation::skipped(Kind kind) const {
  for (const Skip& skip : skips) {
    if (skip.kind == kind) return &skip;
  }
  return nullptr;
}

std::vector<Operation> pointwise_operations() {
  std::vector<Operation> list;
  std::map<std::string, int> used;
  for (const autograd::PointwiseEntry* entry : autograd::pointwise_entries()) {
    if (!entry->differentiable) continue;
    auto f = [entry](const Inputs& x) {
      const Tensor* pointers[kMaxPointwiseInputs] = {};
      for (size_t k = 0; k < x.size(); ++k) pointers[k] = &x[k];
      return autograd::pointwise(*entry, entry->example, entry->bytes, pointers);
    };
    Operation operation{
        unique_name(entry->kernels.name, used), f, {}, {}, entry->first_is_condition};
    const Dims broadcast[] = {{3, 1}, {5}, {1, 5}};
    for (int k = 0; k < entry->kernels.arity; ++k) {
      auto i = static_cast<size_t>(k);
      Operand operand = any(entry->domain[i]);
      if (entry->kernels.arity > 1) operand.broadcast = broadcast[i];
      operation.operands.push_back(operand);
    }
    list.push_back(std::move(operation));
  }
  return list;
}

std::vector<Operation> all_operations() {
  std::vector<Operation> list;
  for (auto make : {pointwise_operations, shape_operations, index_operations, reduce_operations,
                    product_operations, layer_operations}) {
    for (Operation& operation : make()) list.push_back(std::move(operation));
  }
  return list;
}

Sample make_sample(const Operation& operation, Kind kind, Device device) {
  uint64_t seed = 11;
  auto leaf_of = [&](const Dims& sizes, const Operand& operand) {
    TensorOptions options{.device = device, .requires_grad = true};
    return random(sizes, options, seed++, operand.domain.lo, operand.domain.hi);
  };
  bool broadcasts = std::ranges::any_of(operation.operands,
                                        [](const Operand& o) { return o.broadcast.size() > 0; });
  Inputs inputs;
  std::vector<Preparation> preparations;
  for (const Operand& operand : operation.operands) {
    Dims sizes = sizes_of(operand, kind == Kind::Broadcast && !broadcasts ? Kind::Odd : kind);
    Preparation preparation = [](const Tensor& x) { return x; };
    if (operation.first_is_condition && inputs.empty()) {
      inputs.push_back(gt(random(sizes, {.device = device}, 7), 0.0));
    } else if (kind == Kind::LayoutLeft) {
      Tensor values = leaf_of(sizes, operand);
      inputs.push_back(with_strides(values, strides_from_the_left(sizes)));
    } else if ((kind == Kind::Transposed || kind == Kind::Expanded) && sizes.size() > 0) {
      auto [before, change] = prepared(kind, sizes);
      inputs.push_back(leaf_of(before, operand));
      preparation = change;
    } else {
      inputs.push_back(leaf_of(sizes, operand));
    }
    preparations.push_back(preparation);
  }
  if (kind != Kind::Broadcast || broadcasts) return {after(operation.f, preparations), inputs};
  // The operation does not broadcast: what it sees is the mean of two tensors that do, which lies
  // in its domain.
  Dims sizes = operation.operands[0].odd;
  inputs[0] = leaf_of(with_size(sizes, 0, 1), operation.operands[0]);
  inputs.push_back(leaf_of(with_size(sizes, sizes.size() - 1, 1), operation.operands[0]));
  auto f = [f = operation.f, sizes](const Inputs& x) {
    Inputs own(x.begin(), x.end() - 1);
    own[0] = sizes.size() > 1 ? (x[0] + x.back()) * 0.5 : expand((x[0] + x.back()) * 0.5, sizes);
    return f(own);
  };
  return {f, inputs};
}

}  // namespace farro::test
