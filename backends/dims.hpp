#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <farro/backends/config.hpp>
#include <farro/backends/error.hpp>

namespace farro {

/// The largest number of dimensions, which is that of a Kokkos view.
inline constexpr int kMaxDims = 8;

/// Read-only list of sizes, strides or dimension numbers.
struct IntList : std::span<const int64_t> {
  using Base = std::span<const int64_t>;
  using Base::Base;
  IntList() = default;
  IntList(std::initializer_list<int64_t> list) : Base(list.begin(), list.size()) {}
  IntList(const std::vector<int64_t>& list) : Base(list.data(), list.size()) {}
  int ndim() const { return static_cast<int>(size()); }
};

/// Sizes or strides of a tensor: up to kMaxDims integers, stored in place.
class Dims {
 public:
  Dims() = default;
  Dims(IntList list) { assign(list); }
  Dims(std::initializer_list<int64_t> list) : Dims(IntList(list)) {}
  Dims(int count, int64_t value) { resize(count, value); }

  FARRO_FUNCTION int size() const { return size_; }
  FARRO_FUNCTION bool empty() const { return size_ == 0; }
  FARRO_FUNCTION int64_t operator[](int i) const { return values_[i]; }
  FARRO_FUNCTION int64_t& operator[](int i) { return values_[i]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  int64_t back() const { return values_[size_ - 1]; }
  operator IntList() const { return {values_, static_cast<size_t>(size_)}; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }

  void push_back(int64_t value) {
    if (size_ == kMaxDims) too_many(size_ + 1);
    values_[size_++] = value;
  }
  void resize(int count, int64_t value = 0) {
    if (count > kMaxDims) too_many(count);
    for (int i = size_; i < count; ++i) values_[i] = value;
    size_ = count;
  }
  void insert(int at, int64_t value) {
    push_back(value);
    for (int i = size_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) values_[i] = values_[i + 1];
    --size_;
  }

  /// The product of all entries; 1 for none.
  FARRO_FUNCTION int64_t product() const {
    int64_t p = 1;
    for (int i = 0; i < size_; ++i) p *= values_[i];
    return p;
  }
  FARRO_FUNCTION friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  void assign(IntList list) {
    if (list.ndim() > kMaxDims) too_many(list.ndim());
    size_ = list.ndim();
    for (int i = 0; i < size_; ++i) values_[i] = list[static_cast<size_t>(i)];
  }
  [[noreturn]] FARRO_COLD static void too_many(int count) {
    fail<ShapeError>("shape", "expected at most {} dimensions, got {}", kMaxDims, count);
  }

  int32_t size_ = 0;
  int64_t values_[kMaxDims] =
      {};  // all are copied, which a fixed length makes cheaper than copying a few
};

/// "[2, 3]".
std::string to_string(IntList dims);

/// Row-major strides (in elements) of a contiguous tensor.
Dims contiguous_strides(const Dims& sizes);
/// True if elements lie in row-major order without gaps; dimensions of size 1 and empty tensors
/// always do.
bool is_contiguous(const Dims& sizes, const Dims& strides);
/// The shape that both broadcast to; throws ShapeError naming the operation.
Dims broadcast_shapes(const Dims& a, const Dims& b, std::string_view operation);
/// dim in [-ndim, ndim) to [0, ndim); IndexError otherwise. A 0-d tensor accepts -1 and 0.
int wrap_dim(int64_t dim, int ndim, std::string_view operation);

}  // namespace farro
