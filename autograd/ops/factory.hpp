#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <vector>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/random.hpp>

namespace farro {

/// A number that remembers whether it was a truth value, an integer or neither.
class Scalar {
 public:
  template <Number T>
  Scalar(T value) : kind_(kind_of<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      double_ = static_cast<double>(value);
    } else {
      int_ = static_cast<int64_t>(value);
      double_ = static_cast<double>(value);
    }
  }
  bool is_floating_point() const { return kind_ == kFloat64; }
  bool is_bool() const { return kind_ == kBool; }
  double to_double() const { return double_; }
  int64_t to_int() const { return is_floating_point() ? static_cast<int64_t>(double_) : int_; }
  /// bool, int64 or the default dtype.
  DType dtype() const { return is_floating_point() ? default_dtype() : kind_; }

 private:
  template <class T>
  static constexpr DType kind_of = std::is_floating_point_v<T> ? kFloat64
                                   : std::is_same_v<T, bool>   ? kBool
                                                               : kInt64;
  DType kind_;
  int64_t int_ = 0;
  double double_ = 0;
};

// Sizes come first, options last. Where options name no dtype it is default_dtype(), unless the
// data says bool or integer. All throw ShapeError for negative sizes and TypeError where an integer
// tensor is to require grad.

/// Uninitialised elements.
Tensor empty(IntList sizes, const TensorOptions& options = {});
Tensor zeros(IntList sizes, const TensorOptions& options = {});
Tensor ones(IntList sizes, const TensorOptions& options = {});
Tensor full(IntList sizes, Scalar value, const TensorOptions& options = {});

/// Shape, dtype and device of another tensor, except for what options name.
Tensor empty_like(const Tensor& like, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& like, const TensorOptions& options = {});
Tensor ones_like(const Tensor& like, const TensorOptions& options = {});
Tensor full_like(const Tensor& like, Scalar value, const TensorOptions& options = {});

/// start, start + step, … below stop (above it for a negative step). int64 if all are integers.
/// ValueError for a step of 0 or one that leads away from stop.
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, const TensorOptions& options = {});
inline Tensor arange(Scalar stop, const TensorOptions& options = {}) {
  return arange(0, stop, 1, options);
}
inline Tensor arange(Scalar start, Scalar stop, const TensorOptions& options) {
  return arange(start, stop, 1, options);
}
/// Equally spaced numbers, both ends included.
Tensor linspace(double start, double stop, int64_t steps, const TensorOptions& options = {});
/// Ones on the main diagonal; square where no number of columns is given.
Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, const TensorOptions& options = {});
inline Tensor eye(int64_t rows, const TensorOptions& options) { return eye(rows, {}, options); }
/// A 0-d tensor that promotes like any other, unlike a C++ number.
Tensor scalar_tensor(Scalar value, const TensorOptions& options = {});

namespace detail {

/// Copies host data, row-major, and converts it.
Tensor from_host(const void* data, DType data_dtype, const Dims& sizes,
                 const TensorOptions& options);

/// The dtype of a tensor made of these C++ numbers: bool, int64 or the default dtype; half types
/// stay.
template <class T>
DType inferred_dtype() {
  if constexpr (std::is_floating_point_v<T>) {
    return default_dtype();
  } else if constexpr (std::is_same_v<T, bool>) {
    return kBool;
  } else if constexpr (std::is_integral_v<T>) {
    return kInt64;
  } else {
    return dtype_of<T>;
  }
}

template <class T>
TensorOptions with_inferred_dtype(TensorOptions options) {
  if (!options.dtype) options.dtype = inferred_dtype<T>();
  return options;
}

template <class T, class List>
void append_flat(const List& list, std::vector<T>& flat, Dims& sizes, int depth) {
  int64_t n = static_cast<int64_t>(list.size());
  if (sizes.size() <= depth) sizes.push_back(n);
  if (sizes[depth] != n) {
    fail<ShapeError>("tensor", "expected {} elements in each list of dimension {}, got {}",
                     sizes[depth], depth, n);
  }
  for (const auto& entry : list) {
    if constexpr (std::is_convertible_v<decltype(entry), T>) {
      flat.push_back(static_cast<T>(entry));
    } else {
      append_flat(entry, flat, sizes, depth + 1);
    }
  }
}

template <class T>
using Numbers = std::initializer_list<T>;

/// What numbers are kept as on the way. (std::vector<bool> has no data().)
template <class T>
using Element =
    std::conditional_t<std::is_same_v<T, bool>, uint8_t,
                       std::conditional_t<std::is_floating_point_v<T>, double, int64_t>>;

template <class T, class List>
Tensor from_lists(const List& lists, const TensorOptions& options) {
  std::vector<Element<T>> flat;
  Dims sizes;
  append_flat(lists, flat, sizes, 0);
  return from_host(flat.data(), dtype_of<Element<T>>, sizes, with_inferred_dtype<T>(options));
}

}  // namespace detail

/// A tensor of given elements: tensor(2.5), tensor({1, 2, 3}), tensor({{1., 2.}, {3., 4.}}). C++
/// floating-point numbers give the default dtype, integers int64, truth values bool. Lists of
/// unequal lengths are a ShapeError.
template <Number T>
Tensor tensor(T value, const TensorOptions& options = {}) {
  return scalar_tensor(value, options);
}
template <Number T>
Tensor tensor(detail::Numbers<T> list, const TensorOptions& options = {}) {
  return detail::from_lists<T>(list, options);
}
template <Number T>
Tensor tensor(detail::Numbers<detail::Numbers<T>> lists, const TensorOptions& options = {}) {
  return detail::from_lists<T>(lists, options);
}
template <Number T>
Tensor tensor(detail::Numbers<detail::Numbers<detail::Numbers<T>>> lists,
              const TensorOptions& options = {}) {
  return detail::from_lists<T>(lists, options);
}
template <Number T>
Tensor tensor(detail::Numbers<detail::Numbers<detail::Numbers<detail::Numbers<T>>>> lists,
              const TensorOptions& options = {}) {
  return detail::from_lists<T>(lists, options);
}
template <Number T>
Tensor tensor(const std::vector<T>& list, const TensorOptions& options = {}) {
  return detail::from_lists<T>(list, options);
}

/// Row-major elements in a shape, which must hold as many (ShapeError).
template <class T>
Tensor from_vector(const std::vector<T>& elements, IntList sizes,
                   const TensorOptions& options = {}) {
  Dims dims(sizes);
  if (dims.product() != static_cast<int64_t>(elements.size())) {
    fail<ShapeError>("from_vector", "expected {} elements for shape {}, got {}", dims.product(),
                     to_string(dims), elements.size());
  }
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(elements.begin(), elements.end());
    return detail::from_host(bytes.data(), kUInt8, dims,
                             detail::with_inferred_dtype<bool>(options));
  } else {
    return detail::from_host(elements.data(), dtype_of<T>, dims,
                             detail::with_inferred_dtype<T>(options));
  }
}

// Random tensors draw from `generator`, or from default_generator().

/// Uniform in [0, 1).
Tensor rand(IntList sizes, const TensorOptions& options = {}, Generator* generator = nullptr);
/// Standard normal.
Tensor randn(IntList sizes, const TensorOptions& options = {}, Generator* generator = nullptr);
/// Integers in [low, high), int64 unless options say otherwise. ValueError unless low < high.
Tensor randint(int64_t low, int64_t high, IntList sizes, const TensorOptions& options = {},
               Generator* generator = nullptr);
/// The integers below n in random order.
Tensor randperm(int64_t n, const TensorOptions& options = {}, Generator* generator = nullptr);
Tensor rand_like(const Tensor& like, const TensorOptions& options = {},
                 Generator* generator = nullptr);
Tensor randn_like(const Tensor& like, const TensorOptions& options = {},
                  Generator* generator = nullptr);
/// 1 with the probability that p holds, else 0. No gradient flows through.
Tensor bernoulli(const Tensor& p, Generator* generator = nullptr);

/// The lower (upper) triangle of each matrix up to (from) a diagonal, zeros elsewhere.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

/// int64 tensor with one more dimension of `classes` entries, 1 at the position that x says and 0
/// elsewhere. Without classes one more than the largest entry. IndexError for entries outside.
Tensor one_hot(const Tensor& x, std::optional<int64_t> classes = {});

}  // namespace farro
