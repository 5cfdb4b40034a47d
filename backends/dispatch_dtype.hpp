#pragma once

#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/unpack.hpp>

#include <utility>

#include <farro/backends/dtype.hpp>
#include <farro/backends/error.hpp>

namespace farro {

/// Every scalar, in the order of DType.
inline constexpr auto kScalars = boost::hana::tuple_t<float, double, BFloat16, Float16, int64_t,
                                                      int32_t, int16_t, int8_t, uint8_t, bool>;
/// The types that kernels compute in (see compute_dtype).
inline constexpr auto kComputeScalars = boost::hana::tuple_t<float, double, int64_t>;
inline constexpr auto kComputeFloats = boost::hana::tuple_t<float, double>;

namespace detail {

template <class F, class... Ts>
void dispatch_dtype_in(std::string_view operation, DType dtype, F& f,
                       boost::hana::basic_type<Ts>...) {
  bool found = ((dtype == dtype_of<Ts> ? (f.template operator()<Ts>(), true) : false) || ...);
  if (!found) fail<TypeError>(operation, "dtype {} is not supported", name_of(dtype));
}

}  // namespace detail

/// Calls `f.operator()<Scalar>()` for the scalar of `dtype` that is in the Hana list `scalars`;
/// TypeError otherwise.
template <class List, class F>
void dispatch_dtype(std::string_view operation, DType dtype, const List& scalars, F&& f) {
  boost::hana::unpack(scalars, [&](auto... types) {
    detail::dispatch_dtype_in(
        operation, dtype, f,
        static_cast<boost::hana::basic_type<typename decltype(types)::type>>(types)...);
  });
}

}  // namespace farro
