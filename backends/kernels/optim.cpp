#include <farro/backends/kernels/optim.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/math.hpp>

namespace farro {
namespace {

/// Elements of a block; a block's state, parameters and gradients fit the second-level cache.
constexpr int64_t kGrain = 16384;
/// 16-bit values pass through float buffers of this many elements.
constexpr int64_t kChunk = 1024;

template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The formula of Adam for numbers and packs; S is the compute type.
template <class S>
struct AdamFormula {
  S one_minus_beta1, beta2, one_minus_beta2, eps, step_size, root_bias_correction2, l2, shrink,
      sign;

  explicit AdamFormula(const AdamStep& s)
      : one_minus_beta1(static_cast<S>(s.one_minus_beta1)),
        beta2(static_cast<S>(s.beta2)),
        one_minus_beta2(static_cast<S>(s.one_minus_beta2)),
        eps(static_cast<S>(s.eps)),
        step_size(static_cast<S>(s.step_size)),
        root_bias_correction2(static_cast<S>(s.root_bias_correction2)),
        l2(static_cast<S>(s.l2)),
        shrink(static_cast<S>(s.shrink)),
        sign(s.maximize ? S(-1) : S(1)) {}

  template <class V>
  FARRO_FORMULA void operator()(V& p, V g, V& m, V& v, V* largest) const {
    g = g * V(sign);
    if (l2 != S(0)) g = g + V(l2) * p;
    p = p * V(shrink);
    m = m + (g - m) * V(one_minus_beta1);
    v = v * V(beta2) + g * g * V(one_minus_beta2);
    if (largest) *largest = math::maximum(*largest, v);
    V root = math::sqrt(largest ? *largest : v) / V(root_bias_correction2) + V(eps);
    p = p - V(step_size) * (m / root);
  }
};

template <class S>
struct SGDFormula {
  S lr, momentum, one_minus_dampening, l2, sign;
  bool nesterov, first;

  explicit SGDFormula(const SGDStep& s)
      : lr(static_cast<S>(s.lr)),
        momentum(static_cast<S>(s.momentum)),
        one_minus_dampening(static_cast<S>(s.one_minus_dampening)),
        l2(static_cast<S>(s.l2)),
        sign(s.maximize ? S(-1) : S(1)),
        nesterov(s.nesterov),
        first(s.first) {}

  template <class V>
  FARRO_FORMULA void operator()(V& p, V g, V* buffer) const {
    g = g * V(sign);
    if (l2 != S(0)) g = g + V(l2) * p;
    if (buffer) {
      *buffer = first ? g : *buffer * V(momentum) + g * V(one_minus_dampening);
      g = nesterov ? g + V(momentum) * *buffer : *buffer;
    }
    p = p - V(lr) * g;
  }
};

/// Calls body(param, grad, offset, count) with parameters and gradients of type S for [begin, end):
/// the arrays themselves, or 16-bit values converted chunk by chunk and, the parameters, rounded
/// back.
template <class T, class S, class Body>
void in_compute_type(T* param, const T* grad, int64_t begin, int64_t end, const Body& body) {
  if constexpr (std::is_same_v<T, S>) {
    body(param + begin, grad + begin, begin, end - begin);
  } else {
    S p[kChunk], g[kChunk];
    for (int64_t at = begin; at < end; at += kChunk) {
      int64_t n = at + kChunk < end ? kChunk : end - at;
      for (int64_t i = 0; i < n; ++i) p[i] = static_cast<S>(param[at + i]);
      for (int64_t i = 0; i < n; ++i) g[i] = static_cast<S>(grad[at + i]);
      body(p, g, at, n);
      for (int64_t i = 0; i < n; ++i) param[at + i] = T(p[i]);
    }
  }
}

/// Runs update(i, load, store) over n elements in packs; the last, partial pack is padded. (CUDA's
/// compiler fails on packs made by {}, hence S(0) below.)
template <class S, class Update>
FARRO_INLINE void in_packs(int64_t n, const Update& update) {
  int64_t i = 0;
  for (; i + pack_size<S> <= n; i += pack_size<S>) {
    update(
        i, [](const S* from) { return simd::load(from); },
        [](S* to, const Pack<S>& x) { simd::store(to, x); });
  }
  if (i < n) {
    int64_t rest = n - i;
    update(
        i, [rest](const S* from) { return simd::load_some(from, rest); },
        [rest](S* to, const Pack<S>& x) { simd::store_some(to, x, rest); });
  }
}

template <bool Amsgrad, class S>
void adam_run(const AdamFormula<S>& formula, int64_t n, S* p, const S* g, S* m, S* v, S* largest) {
  in_packs<S>(n, [&](int64_t i, auto load, auto store) {
    Pack<S> pp = load(p + i), mm = load(m + i), vv = load(v + i), ll(S(0));
    if constexpr (Amsgrad) ll = load(largest + i);
    formula(pp, load(g + i), mm, vv, Amsgrad ? &ll : nullptr);
    store(p + i, pp);
    store(m + i, mm);
    store(v + i, vv);
    if constexpr (Amsgrad) store(largest + i, ll);
  });
}

template <bool Momentum, class S>
void sgd_run(const SGDFormula<S>& formula, int64_t n, S* p, const S* g, S* buffer) {
  in_packs<S>(n, [&](int64_t i, auto load, auto store) {
    Pack<S> pp = load(p + i), bb(S(0));
    // Before the first step the buffer holds nothing; reading it anyway is harmless.
    if constexpr (Momentum) bb = load(buffer + i);
    formula(pp, load(g + i), Momentum ? &bb : nullptr);
    store(p + i, pp);
    if constexpr (Momentum) store(buffer + i, bb);
  });
}

/// The plain kernels, element by element, on any backend.
template <class T, class S>
struct AdamElement {
  AdamFormula<S> formula;
  T* param;
  const T* grad;
  S *m, *v, *largest;
  FARRO_FUNCTION void operator()(int64_t i) const {
    S p = static_cast<S>(param[i]);
    formula(p, static_cast<S>(grad[i]), m[i], v[i], largest ? largest + i : nullptr);
    param[i] = static_cast<T>(p);
  }
};

template <class T, class S>
struct SGDElement {
  SGDFormula<S> formula;
  T* param;
  const T* grad;
  S* buffer;
  FARRO_FUNCTION void operator()(int64_t i) const {
    S p = static_cast<S>(param[i]);
    formula(p, static_cast<S>(grad[i]), buffer ? buffer + i : nullptr);
    param[i] = static_cast<T>(p);
  }
};

bool plain(Device device) { return !device.is_host() || use_reference_kernels(); }

constexpr auto kFloats = boost::hana::tuple_t<float, double, BFloat16, Float16>;

}  // namespace

void adam_step(const ArrayView& param, const ArrayView& grad, const ArrayView& exp_avg,
               const ArrayView& exp_avg_sq, const ArrayView* max_exp_avg_sq, const AdamStep& step) {
  constexpr const char* kLabel = "farro::adam_step";
  int64_t n = param.numel();
  dispatch_dtype("adam_step", param.dtype, kFloats, [&]<class T>() {
    using S = Compute<T>;
    AdamFormula<S> formula(step);
    T* p = param.as<T>();
    const T* g = grad.as<T>();
    S *m = exp_avg.as<S>(), *v = exp_avg_sq.as<S>(),
      *largest = max_exp_avg_sq ? max_exp_avg_sq->as<S>() : nullptr;
    if (plain(param.device)) {
      for_each(param.device, kLabel, n, AdamElement<T, S>{formula, p, g, m, v, largest});
      return;
    }
    parallel_blocks(param.device, kLabel, {n, kGrain, 3}, [&](int64_t begin, int64_t end) {
      in_compute_type<T, S>(p, g, begin, end, [&](S* pp, const S* gg, int64_t at, int64_t count) {
        if (largest) {
          adam_run<true>(formula, count, pp, gg, m + at, v + at, largest + at);
        } else {
          adam_run<false, S>(formula, count, pp, gg, m + at, v + at, nullptr);
        }
      });
    });
  });
}

void sgd_step(const ArrayView& param, const ArrayView& grad, const ArrayView* momentum_buffer,
              const SGDStep& step) {
  constexpr const char* kLabel = "farro::sgd_step";
  int64_t n = param.numel();
  dispatch_dtype("sgd_step", param.dtype, kFloats, [&]<class T>() {
    using S = Compute<T>;
    SGDFormula<S> formula(step);
    T* p = param.as<T>();
    const T* g = grad.as<T>();
    S* buffer = momentum_buffer ? momentum_buffer->as<S>() : nullptr;
    if (plain(param.device)) {
      for_each(param.device, kLabel, n, SGDElement<T, S>{formula, p, g, buffer});
      return;
    }
    parallel_blocks(param.device, kLabel, {n, kGrain, 2}, [&](int64_t begin, int64_t end) {
      in_compute_type<T, S>(p, g, begin, end, [&](S* pp, const S* gg, int64_t at, int64_t count) {
        if (buffer) {
          sgd_run<true>(formula, count, pp, gg, buffer + at);
        } else {
          sgd_run<false, S>(formula, count, pp, gg, nullptr);
        }
      });
    });
  });
}

}  // namespace farro
