#pragma once

/// Every pointwise operation, by family. A line here makes an operation's kernels (in the source of
/// its family) and puts it before all tests and benchmarks that iterate.

#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include <span>
#include <vector>

#include <farro/autograd/ops/pointwise.hpp>

namespace farro::ops {

inline constexpr auto kArithmeticOps =
    boost::hana::tuple_t<Add, AddScaled, Sub, Mul, Div, DivFloor, DivTrunc, Fmod, Remainder, Neg,
                         Reciprocal, Square, Abs, Sign, Lerp, Addcmul, Addcdiv>;
inline constexpr auto kExponentialOps =
    boost::hana::tuple_t<Exp, Exp2, Expm1, Log, Log1p, Log2, Log10, Sqrt, Rsqrt, Pow, PowNumber,
                         PowBase, Xlogy, Logaddexp, Sigmoid, Logit>;
inline constexpr auto kTrigonometricOps =
    boost::hana::tuple_t<Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
                         Atan2, Hypot, Sinc>;
inline constexpr auto kSpecialOps = boost::hana::tuple_t<Erf, Erfc, Erfinv, Lgamma, Polygamma>;
inline constexpr auto kActivationOps =
    boost::hana::tuple_t<Relu, LeakyRelu, Elu, Gelu, GeluTanh, Silu, Mish, Softplus, Softsign,
                         Softshrink, Hardshrink, Hardtanh, Hardsigmoid, Hardswish, Threshold,
                         LogSigmoid, Prelu>;
inline constexpr auto kSelectionOps =
    boost::hana::tuple_t<Maximum, Minimum, Fmax, Fmin, Clamp, Where, Floor, Ceil, Trunc, Round,
                         Frac, Heaviside, Copysign, NanToNum>;
inline constexpr auto kLogicOps =
    boost::hana::tuple_t<Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr, LogicalXor, LogicalNot,
                         IsNan, IsInf, IsFinite, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot>;

}  // namespace farro::ops

namespace farro::autograd {

/// The entries of each family.
std::span<const PointwiseEntry* const> arithmetic_entries();
std::span<const PointwiseEntry* const> exponential_entries();
std::span<const PointwiseEntry* const> trigonometric_entries();
std::span<const PointwiseEntry* const> special_entries();
std::span<const PointwiseEntry* const> activation_entries();
std::span<const PointwiseEntry* const> selection_entries();
std::span<const PointwiseEntry* const> logic_entries();
/// The entries of all operations.
std::vector<const PointwiseEntry*> pointwise_entries();

}  // namespace farro::autograd
