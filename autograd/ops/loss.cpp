#include <farro/autograd/ops/loss.hpp>

#include <farro/autograd/ops/dense.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/ops/softmax.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/cross_entropy.hpp>
#include <farro/backends/kernels/reduce.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::dense;
using autograd::Grads;
using autograd::record;

Reduction reduction_from_name(std::string_view name) {
  for (Reduction r : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
    if (name == name_of(r)) return r;
  }
  fail<ValueError>("reduction", "expected none, mean or sum, got {}", name);
}

std::string_view name_of(Reduction reduction) {
  return reduction == Reduction::None ? "none" : reduction == Reduction::Mean ? "mean" : "sum";
}

Tensor reduce_loss(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::None) return losses;
  return reduction == Reduction::Mean ? mean(losses) : sum(losses);
}

namespace {

/// Where the classes are: dimension 0 of a single sample, else 1.
int class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

/// [N, C, d…] as [N·d…, C].
Tensor class_rows(const Tensor& x) {
  if (x.dim() == 2) return x;
  if (x.dim() == 1) return unsqueeze(x, 0);
  return reshape(movedim(x, 1, -1), {x.numel() / std::max<int64_t>(x.sizes()[1], 1), x.sizes()[1]});
}

void check_weight(const Tensor& weight, int64_t classes, const char* operation) {
  if (weight.defined() && (weight.dim() != 1 || weight.sizes()[0] != classes)) {
    fail<ShapeError>(operation, "expected a weight for each of {} classes, got shape {}", classes,
                     to_string(weight.sizes()));
  }
}

/// Checked classes, flattened.
struct ClassTargets {
  ClassTargets(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore,
               const char* operation)
      : ignore_index(ignore) {
    check_shapes(x, target, operation);
    classes = x.sizes()[class_dim(x)];
    check_weight(weight, classes, operation);
    flat = reshape(dense(target), {target.numel()});
    Tensor on_host = flat.device().is_host() ? flat : to(flat, Device());
    std::vector<double> weights;
    if (weight.defined()) weights = weight.to_vector();
    const int64_t* t = on_host.data<int64_t>();
    for (int64_t i = 0; i < flat.numel(); ++i) {
      if (t[i] == ignore_index) {
        ++ignored;
      } else if (t[i] < 0 || t[i] >= classes) {
        fail<IndexError>(operation, "expected targets in [0, {}), got {}", classes, t[i]);
      } else {
        weight_sum += weights.empty() ? 1 : weights[static_cast<size_t>(t[i])];
      }
    }
  }

  Tensor flat;
  int64_t classes = 0, ignored = 0, ignore_index;
  double weight_sum = 0;  ///< of the targets that are not ignored

 private:
  static void check_shapes(const Tensor& x, const Tensor& target, const char* operation) {
    if (x.dim() < 1)
      fail<ShapeError>(operation, "expected an input of shape [N, C, …] or [C], got []");
    Dims wanted = x.sizes();
    wanted.erase(class_dim(x));
    if (target.sizes() != wanted) {
      fail<ShapeError>(operation, "expected a target of shape {}, got {}", to_string(wanted),
                       to_string(target.sizes()));
    }
    if (target.dtype() != kInt64) {
      fail<TypeError>(operation, "expected an int64 target, got {}", name_of(target.dtype()));
    }
    if (target.device() != x.device()) {
      fail<BackendError>(operation, "expected a target on {}, got {}", x.device().str(),
                         target.device().str());
    }
  }
};

/// The weight of each row's class; 0 where it is ignored. Undefined where all are 1.
Tensor row_weights(const Tensor& targets, const Tensor& weight, const Tensor& x,
                   int64_t ignore_index, bool any_ignored) {
  NoGrad guard;
  if (!weight.defined() && !any_ignored) return {};
  Tensor ignored = eq(targets, ignore_index);
  Tensor safe = any_ignored ? where(ignored, 0, targets) : targets;
  Tensor w = weight.defined() ? index_select(to(weight, x.dtype()), 0, safe)
                              : ones(targets.sizes(), {.dtype = x.dtype(), .device = x.device()});
  return any_ignored ? where(ignored, 0, w) : w;
}

/// Σ losses / divisor, as a weighted mean is.
Tensor weighted_reduction(const Tensor& losses, Reduction reduction, double divisor,
                          const Dims& sizes) {
  if (reduction == Reduction::None) return reshape(losses, sizes);
  Tensor total = sum(losses);
  return reduction == Reduction::Mean ? total / divisor : total;
}

/// The fused kernels on rows of logits.
Tensor cross_entropy_rows(const Tensor& x, const ClassTargets& t, const Tensor& weight,
                          Reduction reduction) {
  Tensor in = dense(x), w = weight.defined() ? dense(weight) : weight;
  int64_t rows = x.sizes()[0];
  Tensor losses = empty({rows}, x.dtype(), x.device()),
         log_sum = empty({rows}, compute_dtype(x.dtype()), x.device());
  kernels::cross_entropy(losses.array(), log_sum.array(), in.array(), t.flat.array(),
                         w.defined() ? &w.array() : nullptr, t.ignore_index);
  Tensor out = losses;
  if (reduction != Reduction::None) {
    NoGrad guard;
    bool plain_mean = reduction == Reduction::Mean && t.weight_sum == static_cast<double>(rows);
    out = empty({}, x.dtype(), x.device());
    kernels::reduce(out.array(), losses.array(),
                    plain_mean ? kernels::ReduceOp::Mean : kernels::ReduceOp::Sum);
    if (reduction == Reduction::Mean && !plain_mean) out = out / t.weight_sum;
  }
  double scale = reduction == Reduction::Mean ? 1 / t.weight_sum : 1;
  return record(
      "CrossEntropyBackward", out, {x}, {x, t.flat, log_sum, weight},
      [scale, ignore = t.ignore_index, ignored = t.ignored > 0](const BackwardContext& c) -> Grads {
        Tensor x = c.saved(0), targets = c.saved(1), weight = c.saved(3), grad = c.grad();
        if (grad_mode_enabled()) {
          Tensor w = row_weights(targets, weight, x, ignore, ignored);
          Tensor scaled = w.defined() ? grad * scale * w : grad * scale;
          Tensor safe = ignored ? where(eq(targets, ignore), 0, targets) : targets;
          Tensor miss = softmax(x, 1) - to(one_hot(safe, x.sizes()[1]), x.dtype());
          return {miss * (scaled.dim() == 0 ? scaled : unsqueeze(scaled, 1))};
        }
        Tensor in = dense(x), g = dense(grad), w = weight.defined() ? dense(weight) : weight;
        Tensor out = empty_like_array(x.sizes(), x);
        kernels::cross_entropy_backward(out.array(), g.array(), scale, c.saved(2).array(),
                                        in.array(), targets.array(),
                                        w.defined() ? &w.array() : nullptr, ignore);
        return {out};
      });
}

/// Classes as targets, with label smoothing: the mix of nll and the mean over classes.
Tensor smoothed_cross_entropy(const Tensor& x, const ClassTargets& t, const Tensor& target,
                              const Tensor& weight, Reduction reduction, double smoothing) {
  Tensor log_p = log_softmax(class_rows(x), 1);
  Tensor safe = t.ignored > 0 ? where(eq(t.flat, t.ignore_index), 0, t.flat) : t.flat;
  Tensor hit = -squeeze(gather(log_p, 1, unsqueeze(safe, 1)), 1);
  Tensor w = row_weights(t.flat, weight, x, t.ignore_index, t.ignored > 0);
  if (w.defined()) hit = hit * w;
  Tensor rest = -sum(weight.defined() ? log_p * to(weight, x.dtype()) : log_p, {1});
  if (t.ignored > 0) rest = masked_fill(rest, eq(t.flat, t.ignore_index), Tensor(0));
  Tensor losses = hit * (1 - smoothing) + rest * (smoothing / static_cast<double>(t.classes));
  return weighted_reduction(losses, reduction, t.weight_sum, target.sizes());
}

/// Probabilities of classes as targets.
Tensor soft_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                          Reduction reduction, double smoothing) {
  if (target.sizes() != x.sizes()) {
    fail<ShapeError>("cross_entropy", "expected probabilities of shape {}, got {}",
                     to_string(x.sizes()), to_string(target.sizes()));
  }
  int dim = class_dim(x);
  int64_t classes = x.sizes()[dim];
  check_weight(weight, classes, "cross_entropy");
  Tensor p = target, log_p = log_softmax(x, dim);
  if (smoothing > 0) p = p * (1 - smoothing) + smoothing / static_cast<double>(classes);
  if (weight.defined()) {
    Dims sizes(x.dim(), 1);
    sizes[dim] = classes;
    log_p = log_p * reshape(weight, sizes);
  }
  Tensor losses = -sum(p * log_p, {dim});
  return weighted_reduction(losses, reduction,
                            static_cast<double>(x.numel() / std::max<int64_t>(classes, 1)),
                            losses.sizes());
}

/// Losses of elements, weighted where weights are given.
Tensor elementwise(const Tensor& losses, Reduction reduction, const Tensor& weight) {
  if (!weight.defined()) return reduce_loss(losses, reduction);
  Tensor weighted = losses * weight;
  if (reduction == Reduction::Mean) return sum(weighted) / sum(expand_as(weight, losses));
  return reduce_loss(weighted, reduction);
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                Reduction reduction) {
  ClassTargets t(x, target, weight, ignore_index, "nll_loss");
  Tensor safe = t.ignored > 0 ? where(eq(t.flat, ignore_index), 0, t.flat) : t.flat;
  Tensor losses = -squeeze(gather(class_rows(x), 1, unsqueeze(safe, 1)), 1);
  Tensor w = row_weights(t.flat, weight, x, ignore_index, t.ignored > 0);
  if (w.defined()) losses = losses * w;
  if (t.ignored > 0)
    losses = masked_fill(losses, eq(t.flat, ignore_index), Tensor(0));  // not infinity · 0
  return weighted_reduction(losses, reduction, t.weight_sum, target.sizes());
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                     int64_t ignore_index, Reduction reduction, double label_smoothing) {
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    fail<ValueError>("cross_entropy", "expected a label_smoothing in [0, 1], got {}",
                     label_smoothing);
  }
  if (!x.is_floating_point()) {
    fail<TypeError>("cross_entropy", "expected a floating-point input, got {}", name_of(x.dtype()));
  }
  if (target.is_floating_point())
    return soft_cross_entropy(x, target, weight, reduction, label_smoothing);
  ClassTargets t(x, target, weight, ignore_index, "cross_entropy");
  if (label_smoothing > 0)
    return smoothed_cross_entropy(x, t, target, weight, reduction, label_smoothing);
  Tensor loss = cross_entropy_rows(class_rows(x), t, weight, reduction);
  return reduction == Reduction::None && x.dim() != 2 ? reshape(loss, target.sizes()) : loss;
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction, const Tensor& weight) {
  return elementwise(square(x - target), reduction, weight);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction, const Tensor& weight) {
  return elementwise(abs(x - target), reduction, weight);
}

}  // namespace farro
