#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

namespace farro::test {
namespace {

void add_sums(OpTable& t) {
  auto sums = [&](const std::string& name,
                  Tensor (*f)(const Tensor&, IntList, bool, std::optional<DType>)) {
    t.add(name, [f](const Call& c) {
      return f(c.tensor(0), c.integers(1, "dim"), c.flag(2, "keepdim", false), c.dtype());
    });
  };
  sums("sum", sum);
  sums("mean", mean);
  t.add("prod", [](const Call& c) {
    if (!c.has(1, "dim")) return prod(c.tensor(0), c.dtype());
    return prod(c.tensor(0), c.integer(1, "dim"), c.flag(2, "keepdim", false), c.dtype());
  });
  t.add("cumsum",
        [](const Call& c) { return cumsum(c.tensor(0), c.integer(1, "dim"), c.dtype()); });
  t.add("cumprod",
        [](const Call& c) { return cumprod(c.tensor(0), c.integer(1, "dim"), c.dtype()); });
  t.add("count_nonzero",
        [](const Call& c) { return count_nonzero(c.tensor(0), c.integers(1, "dim")); });
  t.add("logsumexp", [](const Call& c) {
    return logsumexp(c.tensor(0), c.integers(1, "dim"), c.flag(2, "keepdim", false));
  });
  t.add("sum_to_size",
        [](const Call& c) { return sum_to_size(c.tensor(0), c.rest_of_integers(1)); });
}

void add_over_dims(OpTable& t) {
  auto over = [&](const std::string& name, Tensor (*f)(const Tensor&, IntList, bool)) {
    t.add(name, [f](const Call& c) {
      return f(c.tensor(0), c.integers(1, "dim"), c.flag(2, "keepdim", false));
    });
  };
  over("nansum", nansum);
  over("nanmean", nanmean);
  over("amax", amax);
  over("amin", amin);
  over("any", any);
  over("all", all);
}

void add_extremes(OpTable& t) {
  using Pair = std::pair<Tensor, Tensor>;
  auto extreme = [&](const std::string& name, Tensor (*whole)(const Tensor&),
                     Pair (*along)(const Tensor&, int64_t, bool),
                     Tensor (*two)(const Tensor&, const Tensor&)) {
    t.add(name, [=](const Call& c) -> Value {
      if (c.size() == 1 && !c.has(1, "dim")) return whole(c.tensor(0));
      if (c.value(1, "other").is<Tensor>()) return two(c.tensor(0), c.tensor(1));
      return along(c.tensor(0), c.integer(1, "dim"), c.flag(2, "keepdim", false));
    });
  };
  extreme("max", max, max, max);
  extreme("min", min, min, min);
  auto position = [&](const std::string& name,
                      Tensor (*f)(const Tensor&, std::optional<int64_t>, bool)) {
    t.add(name, [f](const Call& c) {
      return f(c.tensor(0), c.optional_integer(1, "dim"), c.flag(2, "keepdim", false));
    });
  };
  position("argmax", argmax);
  position("argmin", argmin);
  t.add("aminmax", [](const Call& c) {
    return aminmax(c.tensor(0), c.optional_integer(1, "dim"), c.flag(2, "keepdim", false));
  });
  t.add("cummax", [](const Call& c) { return cummax(c.tensor(0), c.integer(1)); });
  t.add("cummin", [](const Call& c) { return cummin(c.tensor(0), c.integer(1)); });
}

/// The dimensions and the correction of var and its like: (dim, correction or unbiased, keepdim) or
/// (unbiased).
struct Moments {
  explicit Moments(const Call& c) {
    bool by_position = c.size() > 1 && c.value(1).is<bool>();
    if (!by_position) dims = c.integers(1, "dim");
    correction = c.number(Call::kNamed, "correction", 1);
    const Value& unbiased = by_position ? c.value(1) : c.value(Call::kNamed, "unbiased");
    if (!unbiased.is_null()) correction = unbiased.boolean() ? 1 : 0;
    keepdim = c.flag(Call::kNamed, "keepdim", false);
  }
  std::vector<int64_t> dims;
  double correction = 1;
  bool keepdim = false;
};

void add_moments(OpTable& t) {
  auto moments = [&](const std::string& name, auto f) {
    t.add(name, [f](const Call& c) -> Value {
      Moments m(c);
      return f(c.tensor(0), m.dims, m.correction, m.keepdim);
    });
  };
  moments("var", farro::var);
  moments("std", farro::std);
  moments("var_mean", farro::var_mean);
  moments("std_mean", farro::std_mean);
}

double order(const Value& v) {
  if (v.is_null()) return 2;
  if (v.is<std::string>() && v.text() != "fro") throw Unsupported("order " + v.text());
  return v.is<std::string>() ? 2 : v.number();
}

void add_norms(OpTable& t) {
  t.add("norm", [](const Call& c) {
    return norm(c.tensor(0), order(c.value(1, "p")), c.integers(2, "dim"),
                c.flag(3, "keepdim", false));
  });
  t.add("linalg.vector_norm", [](const Call& c) {
    return norm(c.tensor(0), order(c.value(1, "ord")), c.integers(2, "dim"),
                c.flag(3, "keepdim", false));
  });
}

}  // namespace

void add_reduce_ops(OpTable& table) {
  add_sums(table);
  add_over_dims(table);
  add_extremes(table);
  add_moments(table);
  add_norms(table);
}

}  // namespace farro::test
