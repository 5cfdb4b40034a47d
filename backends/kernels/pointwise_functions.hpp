#pragma once

/// Makes the computing functions of an operation from its formula: loops over SIMD packs for the
/// host, and the plain Kokkos kernel for every backend.

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <farro/backends/kernels/pointwise.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/math.hpp>

namespace farro::pointwise_functions {

/// The parameters of an operation, from where they are kept.
template <class Op>
Op operation(const void* bytes) {
  Op op;
  std::memcpy(static_cast<void*>(&op), bytes, sizeof(Op));
  return op;
}

/// True if the formula is compiled for integers.
template <class Op>
inline constexpr bool has_integers = !Op::integers_to_float && !Op::floats_only;

/// Numbers for masks: comparisons give 0 or 1.
template <class T, class R>
FARRO_FORMULA FARRO_INLINE T to_value(const R& result) {
  if constexpr (std::is_same_v<R, T>) {
    return result;
  } else {
    return select(result, T(1), T(0));
  }
}

template <class T, class Op, size_t... I>
FARRO_FORMULA FARRO_INLINE T call_forward(const Op& op, const T* x, std::index_sequence<I...>) {
  return to_value<T>(op.forward(x[I]...));
}

template <int Input, class T, class Op, size_t... I>
FARRO_FORMULA FARRO_INLINE T call_backward(const Op& op, const T& dy, const T* x, const T& y,
                                           std::index_sequence<I...>) {
  return op.template backward<Input, T>(dy, x[I]..., y);
}

/// Lets each of `count` inputs point to a whole pack of its elements from `whole` on, of which
/// there are `rest`; the first one fills the pack up. `packs` holds the packs one after the other.
template <class T>
FARRO_NOINLINE void pad(const T** in, size_t count, int64_t whole, int64_t rest, T* packs) {
  for (size_t k = 0; k < count; ++k, packs += pack_size<T>) {
    const T* from = in[k] + whole;
    simd::store<T>(packs, Pack<T>(*from));
    for (int64_t i = 1; i < rest; ++i) packs[i] = from[i];
    in[k] = packs;
  }
}

template <class T>
FARRO_NOINLINE void copy_rest(T* to, const T* from, int64_t rest) {
  for (int64_t i = 0; i < rest; ++i) to[i] = from[i];
}

/// out[i] = f(in, i) in packs. What is left after the last whole pack is computed in a padded one,
/// so that an element's bits do not depend on its place. f is the body of a single loop: it may be
/// long, and two would be compiled twice.
template <class T, size_t Count, class F>
FARRO_INLINE void over_packs(T* out, const T* (&in)[Count], int64_t n, const F& f) {
  constexpr int64_t width = pack_size<T>;
  int64_t rest = n & (width - 1), whole = n - rest, end = whole;
  alignas(64) T packs[(Count + 1) * width];
  T* to = out;
  for (bool last = rest == 0;; last = true) {
    for (int64_t i = 0; i < end; i += width) simd::store<T>(to + i, f(in, i));
    if (last) break;
    pad(in, Count, whole, rest, packs);
    to = packs + Count * width;
    end = width;
  }
  if (rest == 1) {
    out[whole] = *to;  // scalars are common enough for this
  } else if (rest > 1) {
    copy_rest(out + whole, to, rest);
  }
}

template <class Op, class T>
void forward_run(const void* parameters, void* out, const void* const* x, int64_t n) {
  using P = Pack<T>;
  constexpr size_t arity = size_t{Op::arity};
  const Op op = operation<Op>(parameters);
  const T* in[arity];
  for (size_t k = 0; k < arity; ++k) in[k] = static_cast<const T*>(x[k]);
  over_packs(static_cast<T*>(out), in, n, [&op](const T* const* from, int64_t i) {
    P packs[arity];
    for (size_t k = 0; k < arity; ++k) packs[k] = simd::load(from[k] + i);
    return call_forward<P>(op, packs, std::make_index_sequence<arity>());
  });
}

/// How many operands the gradient of an input reads, and where they are: dy first.
template <class Op, int Input>
inline constexpr auto kReads = [] {
  std::array<size_t, kMaxBackwardOperands + 1> result{1, kGradOperand};
  for (size_t k = 0; k <= kOutputOperand; ++k) {
    unsigned bit = k == kOutputOperand ? kOutput : k < size_t{Op::arity} ? 1u << k : 0;
    if (Op::uses.mask[Input] & bit) result[++result[0]] = k;
  }
  return result;
}();

template <class Op, class T, int Input>
void backward_run_of(const Op& op, T* dx, const void* const* operands, int64_t n) {
  using P = Pack<T>;
  constexpr size_t count = kReads<Op, Input>[0];
  const T* in[count];
  for (size_t k = 0; k < count; ++k)
    in[k] = static_cast<const T*>(operands[kReads<Op, Input>[k + 1]]);
  over_packs(dx, in, n, [&op](const T* const* from, int64_t i) {
    P packs[kMaxBackwardOperands];
    for (P& pack : packs) pack = P(T(0));
    for (size_t k = 0; k < count; ++k) packs[kReads<Op, Input>[k + 1]] = simd::load(from[k] + i);
    return call_backward<Input>(op, packs[kGradOperand], packs, packs[kOutputOperand],
                                std::make_index_sequence<size_t{Op::arity}>());
  });
}

/// Calls f<I>() for the input that is asked for.
template <class Op, class F>
void for_input(int input, const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((input == I ? f.template operator()<I>() : void()), ...);
  }
  (std::make_integer_sequence<int, Op::arity>());
}

template <class Op, class T>
void backward_run(const void* parameters, int input, void* dx, const void* const* in, int64_t n) {
  const Op op = operation<Op>(parameters);
  for_input<Op>(
      input, [&]<int Input>() { backward_run_of<Op, T, Input>(op, static_cast<T*>(dx), in, n); });
}

/// The formula for one element, on numbers: the reference of tests.
template <class Op, class T>
void forward_one(const void* parameters, void* y, const void* x) {
  *static_cast<T*>(y) = call_forward<T>(operation<Op>(parameters), static_cast<const T*>(x),
                                        std::make_index_sequence<static_cast<size_t>(Op::arity)>());
}

template <class Op, class T>
void backward_one(const void* parameters, int input, void* dx, const void* operands) {
  const T* in = static_cast<const T*>(operands);
  const Op op = operation<Op>(parameters);
  for_input<Op>(input, [&]<int Input>() {
    *static_cast<T*>(dx) =
        call_backward<Input>(op, in[kGradOperand], in, in[kOutputOperand],
                             std::make_index_sequence<static_cast<size_t>(Op::arity)>());
  });
}

#ifdef FARRO_DEVICE_BACKENDS
/// The operation at one element, whatever the operands' dtypes and strides.
template <class Op, class T>
struct ForwardElement {
  Op op;
  PointwiseOperand out;
  PointwiseOperand in[Op::arity];

  FARRO_FUNCTION void operator()(int64_t i) const {
    T x[Op::arity];
    for (int k = 0; k < Op::arity; ++k) x[k] = in[k].template load<T>(i);
    T y = call_forward<T>(op, x, std::make_index_sequence<static_cast<size_t>(Op::arity)>());
    kernels::store_as(out.data, out.dtype, out.walk.offset(i), y);
  }
};

template <class Op, class T, int Input>
struct BackwardElement {
  Op op;
  PointwiseOperand dx, dy, y;
  PointwiseOperand in[Op::arity];

  FARRO_FUNCTION void operator()(int64_t i) const {
    constexpr unsigned uses = Op::uses.mask[Input];
    T x[Op::arity];
    for (int k = 0; k < Op::arity; ++k) x[k] = (uses >> k) & 1u ? in[k].template load<T>(i) : T(0);
    T output = (uses & kOutput) ? y.template load<T>(i) : T(0);
    T result = call_backward<Input>(op, dy.template load<T>(i), x, output,
                                    std::make_index_sequence<static_cast<size_t>(Op::arity)>());
    kernels::store_as(dx.data, dx.dtype, dx.walk.offset(i), result);
  }
};

template <class Op, class T>
void forward_elements(const Op& op, const char* label, const PointwiseArrays& a) {
  ForwardElement<Op, T> f{op, a.out, {}};
  for (int k = 0; k < Op::arity; ++k) f.in[k] = a.in[static_cast<size_t>(k)];
  for_each(a.device, label, a.n, f, 4 * Op::cost);
}

template <class Op, class T, int Input>
void backward_elements(const Op& op, const char* label, const PointwiseArrays& a) {
  BackwardElement<Op, T, Input> f{op, a.out, a.in[kGradOperand], a.in[kOutputOperand], {}};
  for (int k = 0; k < Op::arity; ++k) f.in[k] = a.in[static_cast<size_t>(k)];
  for_each(a.device, label, a.n, f, 4 * Op::cost);
}

template <class Op>
void forward_portable(const void* parameters, const char* label, const PointwiseArrays& a) {
  const Op op = operation<Op>(parameters);
  if constexpr (!Op::integers_only) {
    if (a.compute == kFloat32) return forward_elements<Op, float>(op, label, a);
    if (a.compute == kFloat64) return forward_elements<Op, double>(op, label, a);
  }
  if constexpr (has_integers<Op>) forward_elements<Op, int64_t>(op, label, a);
}

template <class Op>
void backward_portable(const void* parameters, int input, const char* label,
                       const PointwiseArrays& a) {
  const Op op = operation<Op>(parameters);
  for_input<Op>(input, [&]<int Input>() {
    a.compute == kFloat32 ? backward_elements<Op, float, Input>(op, label, a)
                          : backward_elements<Op, double, Input>(op, label, a);
  });
}

#endif

/// "farro::tanh" of "tanh", kept for the whole run.
template <class Op>
struct Label {
  static constexpr size_t length = std::char_traits<char>::length(Op::name);
  static constexpr auto text = [] {
    std::array<char, length + 8> result{'f', 'a', 'r', 'r', 'o', ':', ':'};
    for (size_t i = 0; i < length; ++i) result[7 + i] = Op::name[i];
    return result;
  }();
};

template <class Op>
constexpr PointwiseKernels make_kernels() {
  PointwiseKernels k;
  k.name = Op::name;
  k.label = Label<Op>::text.data();
  k.arity = Op::arity;
  k.cost = Op::cost;
  if constexpr (!Op::integers_only) {
    k.forward = {forward_run<Op, float>, forward_run<Op, double>};
    k.forward_one = {forward_one<Op, float>, forward_one<Op, double>};
  }
  if constexpr (has_integers<Op>) k.forward[2] = forward_run<Op, int64_t>;
  if constexpr (Op::differentiable) {
    k.backward = {backward_run<Op, float>, backward_run<Op, double>};
    k.backward_one = {backward_one<Op, float>, backward_one<Op, double>};
  }
#ifdef FARRO_DEVICE_BACKENDS
  k.forward_portable = forward_portable<Op>;
  if constexpr (Op::differentiable) k.backward_portable = backward_portable<Op>;
#endif
  return k;
}

}  // namespace farro::pointwise_functions
