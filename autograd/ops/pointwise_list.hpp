#pragma once

/// Every pointwise operation, by family. A line here makes an operation's kernels (in the source of its family) and puts
/// it before all tests and benchmarks that iterate.

#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include <span>

#include <farro/autograd/ops/pointwise.hpp>

namespace farro::ops {

inline constexpr auto kArithmeticOps = boost::hana::tuple_t<Add, AddScaled, Sub, Mul, Div, Neg>;

}  // namespace farro::ops

namespace farro::autograd {

/// The entries of a family, or of all.
std::span<const PointwiseEntry* const> arithmetic_entries();

}  // namespace farro::autograd
