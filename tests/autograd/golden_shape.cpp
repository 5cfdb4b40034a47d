#include <algorithm>

#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::test {
namespace {

Scalar scalar(const Value& v) {
  if (v.is<bool>()) return v.boolean();
  if (v.is<int64_t>()) return v.integer();
  return v.number();
}

/// A part of an index: an integer, a slice, the ellipsis, a tensor, a new axis, or a list of
/// positions or truth values.
Index index_part(const Value& v, Device device) {
  if (v.is<int64_t>()) return v.integer();
  if (v.is<Slice>()) return v.as<Slice>();
  if (v.is<Index::EllipsisTag>()) return ellipsis;
  if (v.is<Tensor>()) return v.as<Tensor>();
  if (v.is_null()) return newaxis;
  if (v.is<bool>()) return scalar_tensor(v.boolean(), {.device = device});
  std::vector<double> numbers;
  for (const Value& item : v.list()) numbers.push_back(item.number());
  bool mask = !v.list().empty() && v.list()[0].is<bool>();
  return from_values(numbers, {.dtype = mask ? kBool : kInt64, .device = device});
}

std::vector<Index> index_parts(const Value& v, Device device) {
  if (!v.is<List>()) return {index_part(v, device)};
  std::vector<Index> parts;
  for (const Value& item : v.list()) parts.push_back(index_part(item, device));
  return parts;
}

void add_views(OpTable& t) {
  t.add("view", [](const Call& c) { return view(c.tensor(0), c.rest_of_integers(1)); });
  t.add("view_as", [](const Call& c) { return view(c.tensor(0), c.tensor(1).sizes()); });
  t.add("reshape", [](const Call& c) { return reshape(c.tensor(0), c.rest_of_integers(1)); });
  t.add("reshape_as", [](const Call& c) { return reshape(c.tensor(0), c.tensor(1).sizes()); });
  t.add("ravel", [](const Call& c) { return flatten(c.tensor(0)); });
  t.add("flatten", [](const Call& c) {
    return flatten(c.tensor(0), c.integer(1, "start_dim", 0), c.integer(2, "end_dim", -1));
  });
  t.add("unflatten",
        [](const Call& c) { return unflatten(c.tensor(0), c.integer(1), c.integers(2)); });
  t.add("squeeze", [](const Call& c) {
    if (c.size() == 1) return squeeze(c.tensor(0));
    return c.value(1).is<List>() ? squeeze(c.tensor(0), c.integers(1))
                                 : squeeze(c.tensor(0), c.integer(1));
  });
  t.add("unsqueeze", [](const Call& c) { return unsqueeze(c.tensor(0), c.integer(1)); });
  t.add("permute", [](const Call& c) { return permute(c.tensor(0), c.rest_of_integers(1)); });
  t.add("transpose",
        [](const Call& c) { return transpose(c.tensor(0), c.integer(1), c.integer(2)); });
  t.unary("t", farro::t);
  t.add("movedim",
        [](const Call& c) { return movedim(c.tensor(0), c.integers(1), c.integers(2)); });
  t.add("expand", [](const Call& c) { return expand(c.tensor(0), c.rest_of_integers(1)); });
  t.add("expand_as", [](const Call& c) { return expand_as(c.tensor(0), c.tensor(1)); });
  t.add("broadcast_to", [](const Call& c) { return broadcast_to(c.tensor(0), c.integers(1)); });
  t.add("narrow", [](const Call& c) {
    return narrow(c.tensor(0), c.integer(1), static_cast<int64_t>(c.number(2)), c.integer(3));
  });
  t.add("select", [](const Call& c) { return select(c.tensor(0), c.integer(1), c.integer(2)); });
  auto split_op = [](const Call& c) {
    int64_t dim = c.integer(2, "dim", 0);
    return c.value(1).is<List>() ? split(c.tensor(0), c.integers(1), dim)
                                 : split(c.tensor(0), c.integer(1), dim);
  };
  t.add("split", split_op);
  t.add("split_with_sizes", split_op);
  t.add("chunk",
        [](const Call& c) { return chunk(c.tensor(0), c.integer(1), c.integer(2, "dim", 0)); });
  t.add("unbind", [](const Call& c) { return unbind(c.tensor(0), c.integer(1, "dim", 0)); });
  t.add("as_strided", [](const Call& c) {
    return as_strided(c.tensor(0), c.integers(1), c.integers(2),
                      c.optional_integer(3, "storage_offset"));
  });
  t.add("diagonal", [](const Call& c) {
    return diagonal(c.tensor(0), c.integer(1, "offset", 0), c.integer(2, "dim1", 0),
                    c.integer(3, "dim2", 1));
  });
}

void add_copies(OpTable& t) {
  t.unary("clone", clone);
  t.unary("contiguous", contiguous);
  t.add("cat", [](const Call& c) { return cat(c.tensors(0), c.integer(1, "dim", 0)); });
  t.add("stack", [](const Call& c) { return stack(c.tensors(0), c.integer(1, "dim", 0)); });
  t.add("flip", [](const Call& c) { return flip(c.tensor(0), c.integers(1, "dims")); });
  t.add("roll", [](const Call& c) { return roll(c.tensor(0), c.integers(1), c.integers(2)); });
  t.add("repeat", [](const Call& c) { return repeat(c.tensor(0), c.rest_of_integers(1)); });
  t.add("tile", [](const Call& c) { return tile(c.tensor(0), c.rest_of_integers(1)); });
  t.add("repeat_interleave", [](const Call& c) {
    auto dim = c.optional_integer(2, "dim");
    c.value(3, "output_size");  // PyTorch's hint that spares it a look at `repeats`
    const Value& repeats = c.value(1, "repeats");
    return repeats.is<Tensor>() ? repeat_interleave(c.tensor(0), repeats.tensor(), dim)
                                : repeat_interleave(c.tensor(0), repeats.integer(), dim);
  });
  t.add("tril", [](const Call& c) { return tril(c.tensor(0), c.integer(1, "diagonal", 0)); });
  t.add("triu", [](const Call& c) { return triu(c.tensor(0), c.integer(1, "diagonal", 0)); });
  t.add("fill", [](const Call& c) {
    Tensor y = clone(c.tensor(0));
    return fill_(y, c.tensor(1, "value"));
  });
}

void add_indexing(OpTable& t) {
  t.add("__getitem__", [](const Call& c) {
    Tensor x = c.tensor(0);
    return index(x, index_parts(c.value(1), x.device()));
  });
  t.add("index_put", [](const Call& c) {
    Tensor y = clone(c.tensor(0));
    index_put_(y, index_parts(c.value(1), y.device()), c.tensor(2), c.flag(3, "accumulate", false));
    return y;
  });
  t.add("index_select",
        [](const Call& c) { return index_select(c.tensor(0), c.integer(1), c.tensor(2)); });
  t.add("index_add", [](const Call& c) {
    return index_add(c.tensor(0), c.integer(1), c.tensor(2), c.tensor(3), c.number(4, "alpha", 1));
  });
  t.add("gather", [](const Call& c) { return gather(c.tensor(0), c.integer(1), c.tensor(2)); });
  t.add("scatter", [](const Call& c) {
    if (!c.value(3).is<Tensor>()) throw Unsupported("a number as source");
    return scatter(c.tensor(0), c.integer(1), c.tensor(2), c.tensor(3));
  });
  t.add("scatter_add", [](const Call& c) {
    return scatter_add(c.tensor(0), c.integer(1), c.tensor(2), c.tensor(3));
  });
  t.add("take_along_dim", [](const Call& c) {
    return take_along_dim(c.tensor(0), c.tensor(1), c.optional_integer(2, "dim"));
  });
  t.add("masked_select", [](const Call& c) { return masked_select(c.tensor(0), c.tensor(1)); });
  t.add("masked_fill",
        [](const Call& c) { return masked_fill(c.tensor(0), c.tensor(1), c.tensor(2)); });
  t.add("nonzero", [](const Call& c) {
    if (c.flag(1, "as_tuple", false)) throw Unsupported("as_tuple");
    return nonzero(c.tensor(0));
  });
  t.add("nn.functional.embedding",
        [](const Call& c) { return embedding(c.tensor(0), c.tensor(1)); });
  t.add("nn.functional.one_hot", [](const Call& c) {
    int64_t classes = c.integer(1, "num_classes", -1);
    return one_hot(c.tensor(0), classes < 0 ? std::optional<int64_t>() : classes);
  });
}

void add_factories(OpTable& t) {
  t.add("arange", [](const Call& c) {
    if (c.size() == 1) return arange(scalar(c.value(0)), c.options());
    return arange(scalar(c.value(0)), scalar(c.value(1)),
                  c.size() > 2 ? scalar(c.value(2)) : Scalar(1), c.options());
  });
  t.add("linspace", [](const Call& c) {
    return linspace(c.number(0), c.number(1), c.integer(2), c.options());
  });
  t.add("eye", [](const Call& c) { return eye(c.integer(0), c.optional_integer(1), c.options()); });
  t.add("full", [](const Call& c) { return full(c.integers(0), scalar(c.value(1)), c.options()); });
  t.add("full_like",
        [](const Call& c) { return full_like(c.tensor(0), scalar(c.value(1)), c.options()); });
  t.add("ones", [](const Call& c) { return ones(c.integers(0), c.options()); });
  t.add("ones_like", [](const Call& c) { return ones_like(c.tensor(0), c.options()); });
  t.add("zeros", [](const Call& c) { return zeros(c.integers(0), c.options()); });
  t.add("zeros_like", [](const Call& c) { return zeros_like(c.tensor(0), c.options()); });
}

}  // namespace

void add_shape_ops(OpTable& table) {
  add_views(table);
  add_copies(table);
  add_indexing(table);
  add_factories(table);
}

}  // namespace farro::test
