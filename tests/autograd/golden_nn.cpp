#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/loss.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pool.hpp>
#include <farro/autograd/ops/softmax.hpp>

namespace farro::test {
namespace {

const std::string kPrefix = "nn.functional.";

void add_softmax(OpTable& t) {
  auto along = [&](const std::string& name,
                   Tensor (*f)(const Tensor&, int64_t, std::optional<DType>)) {
    t.add(name,
          [f](const Call& c) { return f(c.tensor(0, "input"), c.integer(1, "dim"), c.dtype()); });
  };
  along("softmax", softmax);
  along("log_softmax", log_softmax);
  along(kPrefix + "softmin", softmin);
}

void add_normalisations(OpTable& t) {
  t.add(kPrefix + "batch_norm", [](const Call& c) {
    if (c.tensor(0).dim() == 1) throw Unsupported("a 1-d input (of no elements)");
    return batch_norm(c.tensor(0), c.tensor(1, "running_mean"), c.tensor(2, "running_var"),
                      c.tensor(3, "weight"), c.tensor(4, "bias"), c.flag(5, "training", false),
                      c.number(6, "momentum", 0.1), c.number(7, "eps", 1e-5));
  });
  t.add(kPrefix + "instance_norm", [](const Call& c) {
    return instance_norm(c.tensor(0), c.tensor(1, "running_mean"), c.tensor(2, "running_var"),
                         c.tensor(3, "weight"), c.tensor(4, "bias"),
                         c.flag(5, "use_input_stats", true), c.number(6, "momentum", 0.1),
                         c.number(7, "eps", 1e-5));
  });
  t.add(kPrefix + "layer_norm", [](const Call& c) {
    return layer_norm(c.tensor(0), c.integers(1, "normalized_shape"), c.tensor(2, "weight"),
                      c.tensor(3, "bias"), c.number(4, "eps", 1e-5));
  });
  t.add(kPrefix + "group_norm", [](const Call& c) {
    return group_norm(c.tensor(0), c.integer(1, "num_groups"), c.tensor(2, "weight"),
                      c.tensor(3, "bias"), c.number(4, "eps", 1e-5));
  });
}

/// An argument that is one integer or a list.
SpatialSizes sizes(const Call& c, size_t position, const char* name, const SpatialSizes& fallback) {
  return c.has(position, name) ? SpatialSizes(IntList(c.integers(position, name))) : fallback;
}

void add_max_pools(OpTable& t) {
  auto pool = [&](const std::string& name, auto f) {
    t.add(kPrefix + name, [f](const Call& c) -> Value {
      auto result =
          f(c.tensor(0, "input"), sizes(c, 1, "kernel_size", 1), sizes(c, 2, "stride", IntList()),
            sizes(c, 3, "padding", 0), sizes(c, 4, "dilation", 1), c.flag(5, "ceil_mode", false));
      if (c.flag(6, "return_indices", false)) return result;
      return result.first;
    });
  };
  pool("max_pool1d", max_pool1d_with_indices);
  pool("max_pool2d", max_pool2d_with_indices);
  pool("max_pool3d", max_pool3d_with_indices);
}

void add_average_pools(OpTable& t) {
  t.add(kPrefix + "avg_pool1d", [](const Call& c) {
    return avg_pool1d(c.tensor(0, "input"), sizes(c, 1, "kernel_size", 1),
                      sizes(c, 2, "stride", IntList()), sizes(c, 3, "padding", 0),
                      c.flag(4, "ceil_mode", false), c.flag(5, "count_include_pad", true));
  });
  auto pool = [&](const std::string& name, auto f) {
    t.add(kPrefix + name, [f](const Call& c) {
      return f(c.tensor(0, "input"), sizes(c, 1, "kernel_size", 1),
               sizes(c, 2, "stride", IntList()), sizes(c, 3, "padding", 0),
               c.flag(4, "ceil_mode", false), c.flag(5, "count_include_pad", true),
               c.integer(6, "divisor_override", 0));
    });
  };
  pool("avg_pool2d", avg_pool2d);
  pool("avg_pool3d", avg_pool3d);
}

Reduction reduction(const Call& c, size_t position) {
  return reduction_from_name(c.text(position, "reduction", "mean"));
}

void add_losses(OpTable& t) {
  t.add(kPrefix + "nll_loss", [](const Call& c) {
    return nll_loss(c.tensor(0), c.tensor(1), c.tensor(2, "weight"),
                    c.integer(4, "ignore_index", -100), reduction(c, 6));
  });
  t.add(kPrefix + "cross_entropy", [](const Call& c) {
    return cross_entropy(c.tensor(0), c.tensor(1), c.tensor(2, "weight"),
                         c.integer(4, "ignore_index", -100), reduction(c, 6),
                         c.number(7, "label_smoothing", 0));
  });
  t.add(kPrefix + "mse_loss",
        [](const Call& c) { return mse_loss(c.tensor(0), c.tensor(1), reduction(c, 4)); });
  t.add(kPrefix + "l1_loss",
        [](const Call& c) { return l1_loss(c.tensor(0), c.tensor(1), reduction(c, 4)); });
}

}  // namespace

void add_nn_ops(OpTable& table) {
  add_softmax(table);
  add_normalisations(table);
  add_max_pools(table);
  add_average_pools(table);
  add_losses(table);
}

}  // namespace farro::test
