#pragma once

/// What layers' options are made of, and how they are printed.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <farro/autograd/ops/factory.hpp>
#include <farro/backends/dims.hpp>
#include <farro/hooks/convert.hpp>

namespace farro::nn {

/// N sizes of a kernel, stride, …: one number stands for all. Prints as it was written.
template <int N>
class Sizes {
 public:
  /// Zeros: what stands where no sizes were given.
  Sizes() : values_(N, 0) {}
  Sizes(int64_t all) : values_(N, all), written_as_one_(true) {}
  Sizes(int all) : Sizes(int64_t{all}) {}
  /// ValueError unless there are N, or one.
  Sizes(std::initializer_list<int64_t> values) : Sizes(IntList(values)) {}
  Sizes(IntList values) {
    if (values.ndim() == 1) {
      values_ = Dims(N, values[0]);
    } else if (values.ndim() == N) {
      values_ = values;
    } else {
      fail<ValueError>("Sizes", "expected {} numbers, or one for all, got {}", N,
                       to_string(values));
    }
  }
  int64_t operator[](int i) const { return values_[i]; }
  const Dims& values() const { return values_; }
  operator IntList() const { return values_; }
  bool written_as_one() const { return written_as_one_; }
  friend bool operator==(const Sizes& a, const Sizes& b) { return a.values_ == b.values_; }

 private:
  Dims values_;
  bool written_as_one_ = false;
};

/// N sizes, "same" or "valid".
template <int N>
class Padding {
 public:
  Padding() = default;
  template <class T>
  requires std::convertible_to<T, Sizes<N>> Padding(T sizes) : sizes_(sizes) {}
  Padding(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  Padding(IntList sizes) : sizes_(sizes) {}
  /// ValueError for another mode.
  Padding(std::string mode) : sizes_(0), mode_(std::move(mode)) {
    if (mode_ != "same" && mode_ != "valid") {
      fail<ValueError>("Padding", "expected sizes, \"same\" or \"valid\", got \"{}\"", mode_);
    }
  }
  Padding(const char* mode) : Padding(std::string(mode)) {}
  const Sizes<N>& sizes() const { return sizes_; }
  /// Empty for sizes.
  const std::string& mode() const { return mode_; }

 private:
  Sizes<N> sizes_;
  std::string mode_;
};

/// As Python writes values: True, None, 0.001, 1e-05, (3, 3).
std::string python(bool value);
std::string python(int64_t value);
inline std::string python(int value) { return python(int64_t{value}); }
std::string python(double value);
std::string python(const Scalar& value);
/// As a tuple.
std::string python(IntList values);
template <int N>
std::string python(const Sizes<N>& sizes) {
  return sizes.written_as_one() ? python(sizes[0]) : python(sizes.values());
}
template <class T>
std::string python(const std::optional<T>& value) {
  return value ? python(*value) : "None";
}

}  // namespace farro::nn

namespace farro::hooks {

template <int N>
struct ValueTraits<nn::Sizes<N>> {
  static Value to(const nn::Sizes<N>& sizes) {
    return sizes.written_as_one() ? Value(sizes[0]) : to_value(sizes.values().vec());
  }
  static nn::Sizes<N> from(const Value& value) {
    if (!value.is_list()) return value.integer();
    return IntList(from_value<std::vector<int64_t>>(value));
  }
};

template <int N>
struct ValueTraits<nn::Padding<N>> {
  static Value to(const nn::Padding<N>& padding) {
    return padding.mode().empty() ? to_value(padding.sizes()) : Value(padding.mode());
  }
  static nn::Padding<N> from(const Value& value) {
    if (value.is<std::string>()) return value.text();
    return from_value<nn::Sizes<N>>(value);
  }
};

template <>
struct ValueTraits<Scalar> {
  static Value to(const Scalar& scalar) {
    if (scalar.is_floating_point()) return scalar.to_double();
    return scalar.is_bool() ? Value(scalar.to_int() != 0) : Value(scalar.to_int());
  }
  static Scalar from(const Value& value) {
    if (value.is<double>()) return value.number();
    return value.integer();
  }
};

template <>
struct ValueTraits<DType> {
  static Value to(DType dtype) { return std::string(name_of(dtype)); }
  static DType from(const Value& value) { return dtype_from_name(value.text()); }
};

template <>
struct ValueTraits<Device> {
  static Value to(Device device) { return device.str(); }
  static Device from(const Value& value) { return Device(value.text()); }
};

}  // namespace farro::hooks
