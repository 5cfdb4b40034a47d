#pragma once

/// Between Kokkos views and tensors, without a copy. This header includes Kokkos.
///
///     Tensor t = from_view(field);  // a view of any rank up to 8 and layout, managed or not
///     auto v = t.view_as<double**, backends::OpenMP>();  // unmanaged, strided
///     dispatch(t, [&]<class Backend, class Scalar>() {
///       auto v = t.view_as<Scalar*, Backend>();
///     });

#include <memory>
#include <type_traits>

#include <farro/autograd/foreign_memory.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/tensor.hpp>
#include <farro/backends/dispatch.hpp>

namespace farro {

namespace detail {

/// The device of the backend with this execution space.
template <class ExecutionSpace>
Device device_of_space() {
  Device device;
  bool found = boost::hana::unpack(kBackends, [&](auto... types) {
    return ((std::is_same_v<typename decltype(types)::type::ExecutionSpace, ExecutionSpace>
                 ? (device = Device::of(decltype(types)::type::id), true)
                 : false) ||
            ...);
  });
  if (!found) {
    fail<BackendError>("from_view", "no backend was built for the execution space {}",
                       ExecutionSpace::name());
  }
  return device;
}

[[noreturn]] FARRO_COLD inline void wrong_view(const Tensor& tensor, DType dtype, int rank,
                                               std::string_view backend) {
  if (tensor.dtype() != dtype) {
    fail<TypeError>("view_as", "expected a tensor of {}, got {}", name_of(dtype),
                    name_of(tensor.dtype()));
  }
  if (tensor.dim() != rank) {
    fail<ShapeError>("view_as", "expected a tensor of {} dimensions, got shape {}", rank,
                     to_string(tensor.sizes()));
  }
  fail<BackendError>("view_as", "expected a tensor on {}, got one on {}", backend,
                     tensor.device().str());
}

}  // namespace detail

/// A tensor over a view's elements, on the backend of its execution space: what either writes the
/// other sees. Shares a managed view's allocation; the memory of an unmanaged one must outlive the
/// tensor. A tensor over constant elements must not be written to. BackendError for a space without
/// a backend.
template <class DataType, class... Properties>
Tensor from_view(const Kokkos::View<DataType, Properties...>& view) {
  using View = Kokkos::View<DataType, Properties...>;
  using Scalar = typename View::non_const_value_type;
  constexpr int rank = static_cast<int>(View::rank);
  static_assert(rank <= kMaxDims);
  Dims sizes(rank, 0), strides(rank, 0);
  for (int d = 0; d < rank; ++d) {
    sizes[d] = static_cast<int64_t>(view.extent(static_cast<size_t>(d)));
    strides[d] = static_cast<int64_t>(view.stride(static_cast<size_t>(d)));
  }
  return detail::over_foreign_memory(const_cast<Scalar*>(view.data()), dtype_of<Scalar>,
                                     detail::device_of_space<typename View::execution_space>(),
                                     sizes, strides, std::make_shared<View>(view));
}

/// Calls f.operator()<Backend, Scalar>() with the types of a tensor's device and dtype.
template <class F>
void dispatch(const Tensor& tensor, F&& f) {
  dispatch(tensor.device(), tensor.dtype(), std::forward<F>(f));
}

namespace detail {

/// T with `Rank` asterisks.
template <class T, int Rank>
struct DataTypeOf {
  using type = typename DataTypeOf<T*, Rank - 1>::type;
};
template <class T>
struct DataTypeOf<T, 0> {
  using type = T;
};

/// A tensor's elements as a view for an execution and a memory space that can reach them.
template <class DataType, class ExecutionSpace, class MemorySpace>
auto strided_view(const Tensor& tensor, bool reachable, std::string_view backend) {
  using View =
      Kokkos::View<DataType, Kokkos::LayoutStride, Kokkos::Device<ExecutionSpace, MemorySpace>,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  constexpr int rank = static_cast<int>(View::rank);
  constexpr DType wanted = dtype_of<typename View::non_const_value_type>;
  if (tensor.dtype() != wanted || tensor.dim() != rank || !reachable)
    wrong_view(tensor, wanted, rank, backend);
  Kokkos::LayoutStride layout;
  for (int d = 0; d < rank; ++d) {
    layout.dimension[d] = static_cast<size_t>(tensor.sizes()[d]);
    layout.stride[d] = static_cast<size_t>(tensor.strides()[d]);
  }
  View view(static_cast<typename View::pointer_type>(tensor.data_ptr()), layout);
  for (int d = 0; d < rank; ++d) {
    // Extents that DataType fixes, as in double[3][3], are the view's whatever the layout says.
    if (static_cast<int64_t>(view.extent(static_cast<size_t>(d))) != tensor.sizes()[d]) {
      fail<ShapeError>("view_as", "expected size {} in dimension {}, got shape {}",
                       view.extent(static_cast<size_t>(d)), d, to_string(tensor.sizes()));
    }
  }
  return view;
}

}  // namespace detail

template <class DataType, class Backend>
auto Tensor::view_as() const {
  return detail::strided_view<DataType, typename Backend::ExecutionSpace,
                              typename Backend::MemorySpace>(
      *this, device().backend() == Backend::id, Backend::name);
}

template <class T, int Rank, class Backend>
auto autograd::Context::view(const Tensor& tensor) const {
  using DataType = typename farro::detail::DataTypeOf<T, Rank>::type;
  if constexpr (std::is_void_v<Backend>) {
    return farro::detail::strided_view<DataType, Kokkos::DefaultHostExecutionSpace,
                                       Kokkos::HostSpace>(tensor, tensor.device().is_host(),
                                                          "the host");
  } else {
    return tensor.view_as<DataType, Backend>();
  }
}

}  // namespace farro
