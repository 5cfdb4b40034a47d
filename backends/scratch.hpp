#pragma once

#include <cstddef>
#include <utility>

#include <farro/backends/memory.hpp>

namespace farro {

/// Working memory of a kernel from the caching allocator, aligned to 64 bytes; null for no bytes.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(size_t bytes)
      : data_(bytes ? detail::pool_allocate(bytes) : nullptr), bytes_(bytes) {}
  Scratch(Scratch&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Scratch() {
    if (data_) detail::pool_free(data_, bytes_);
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace farro
