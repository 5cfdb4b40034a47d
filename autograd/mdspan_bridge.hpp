#pragma once

/// From mdspans to tensors, without a copy. A type is an mdspan by its interface, so that this
/// header includes none: std::mdspan (C++23) and Kokkos::mdspan (Kokkos 4.6 and later) both are.
///
///     std::mdspan field(numbers.data(), 64, 64);
///     Tensor t = from_mdspan(field);

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <farro/autograd/foreign_memory.hpp>

namespace farro {

namespace detail {

/// The address that a data handle stands for: a pointer, or an object that owns what it points to,
/// as those of Kokkos' managed views do.
template <class T>
T* address_of(T* pointer) {
  return pointer;
}
template <class Handle>
auto address_of(const Handle& handle) -> decltype(handle.get()) {
  return handle.get();
}

}  // namespace detail

/// An mdspan whose elements lie in memory as they are: accessors that scale or convert them, or
/// load them atomically, are none.
template <class M>
concept PlainMdspan = requires(const M& m, typename M::rank_type d) {
  { detail::address_of(m.data_handle()) } -> std::same_as<typename M::element_type*>;
  { M::rank() } -> std::convertible_to<size_t>;
  { m.extent(d) } -> std::integral;
  { m.is_strided() } -> std::convertible_to<bool>;
}
&&std::same_as<typename M::reference, typename M::element_type&>;

/// A tensor over an mdspan's elements: what either writes the other sees. The memory must be that
/// of `device`, and outlive the tensor, unless the mdspan owns it (those of managed views
/// do, from Kokkos 4.6 on). A tensor over constant elements must not be written to. ShapeError for
/// a layout without strides.
template <PlainMdspan M>
Tensor from_mdspan(const M& span, Device device = Device()) {
  using Scalar = std::remove_const_t<typename M::element_type>;
  constexpr int rank = static_cast<int>(M::rank());
  static_assert(rank <= kMaxDims);
  if (!span.is_strided())
    fail<ShapeError>("from_mdspan", "expected a layout with strides, got one without");
  Dims sizes(rank, 0), strides(rank, 0);
  if constexpr (rank > 0) {
    for (int d = 0; d < rank; ++d) {
      sizes[d] = static_cast<int64_t>(span.extent(static_cast<typename M::rank_type>(d)));
      strides[d] = static_cast<int64_t>(span.stride(static_cast<typename M::rank_type>(d)));
    }
  }
  const Scalar* data = detail::address_of(span.data_handle());
  std::shared_ptr<void> owner;
  if constexpr (!std::is_pointer_v<std::remove_cvref_t<decltype(span.data_handle())>>)
    owner = std::make_shared<M>(span);
  return detail::over_foreign_memory(const_cast<Scalar*>(data), dtype_of<Scalar>, device, sizes,
                                     strides, std::move(owner));
}

}  // namespace farro
