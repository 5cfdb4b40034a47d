#pragma once

/// Internal to host kernels: loops over rows of T in SIMD packs, with partial results in a fixed number of lanes, so that
/// the bits do not depend on the width of the processor's registers.

#include <xsimd/xsimd.hpp>

#include <array>
#include <cstdint>
#include <new>

#include <farro/backends/config.hpp>

namespace farro::kernels {

template <class T>
using Pack = xsimd::batch<T>;
template <class T>
inline constexpr int64_t kPackSize = static_cast<int64_t>(Pack<T>::size);
/// Lanes of partial sums: 64 bytes times 4.
template <class T>
inline constexpr int kLanes = static_cast<int>(256 / sizeof(T));

/// Calls f with the packs of rows at i, then once more for the elements left over, which are handed over in padded
/// buffers: f(packs…) gives a pack that is stored in `out`.
template <class T, class F, class... In>
FARRO_INLINE void map_row(int64_t n, T* out, const F& f, const In*... in) {
  constexpr int64_t width = kPackSize<T>;
  int64_t i = 0;
  for (; i + width <= n; i += width) f(Pack<T>::load_unaligned(in + i)...).store_unaligned(out + i);
  if (i < n) {
    int64_t rest = n - i;
    auto padded = [rest](const T* x) {
      alignas(64) T buffer[static_cast<size_t>(width)] = {};
      for (int64_t k = 0; k < rest; ++k) buffer[k] = x[k];
      return Pack<T>::load_aligned(buffer);
    };
    alignas(64) T result[static_cast<size_t>(width)];
    f(padded(in + i)...).store_aligned(result);
    for (int64_t k = 0; k < rest; ++k) out[i + k] = result[k];
  }
}

/// Sums (or maxima…) over a row: slot i mod kLanes takes combine(slot, f(packs at i…)), elements past the end count as
/// `identity`, and the slots are combined by halving.
template <class T, class Combine, class F, class... In>
FARRO_INLINE T fold_row(int64_t n, T identity, const Combine& combine, const F& f, const In*... in) {
  constexpr int64_t width = kPackSize<T>;
  constexpr int packs = static_cast<int>(kLanes<T> / width);
  Pack<T> slots[packs];
  for (int k = 0; k < packs; ++k) slots[k] = Pack<T>(identity);
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
#pragma GCC unroll 16
    for (int k = 0; k < packs; ++k) slots[k] = combine(slots[k], f(Pack<T>::load_unaligned(in + i + k * width)...));
  }
  alignas(64) T lanes[kLanes<T>];
  for (int k = 0; i < n; ++k, i += width) {
    if (i + width <= n) {
      slots[k] = combine(slots[k], f(Pack<T>::load_unaligned(in + i)...));
      continue;
    }
    int64_t rest = n - i;
    auto padded = [rest](const T* x) {
      alignas(64) T buffer[static_cast<size_t>(width)] = {};
      for (int64_t j = 0; j < rest; ++j) buffer[j] = x[j];
      return Pack<T>::load_aligned(buffer);
    };
    f(padded(in + i)...).store_aligned(lanes);
    for (int64_t j = rest; j < width; ++j) lanes[j] = identity;
    slots[k] = combine(slots[k], Pack<T>::load_aligned(lanes));
  }
  for (int half = packs / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) slots[k] = combine(slots[k], slots[k + half]);
  }
  // The halves of one pack, again as packs of which only the lower lanes count.
  slots[0].store_aligned(lanes);
  for (int64_t half = width / 2; half > 0; half /= 2) {
    for (int64_t j = 0; j < width; ++j) lanes[width + j] = lanes[j + half < width ? j + half : j];
    combine(Pack<T>::load_aligned(lanes), Pack<T>::load_aligned(lanes + width)).store_aligned(lanes);
  }
  return lanes[0];
}

/// Q sums at once over many stretches: lanes in T, flushed into double totals after a few thousand elements.
template <class T, int Q>
class LaneSums {
 public:
  /// Adds f(packs of the inputs…), a std::array of Q packs, over n elements.
  template <class F, class... In>
  FARRO_INLINE void add(int64_t n, const F& f, const In*... in) {
    constexpr int64_t width = kPackSize<T>;
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 16
      for (int k = 0; k < kPacks; ++k) accumulate(k, f(Pack<T>::load_unaligned(in + i + k * width)...));
    }
    for (int k = 0; i + width <= n; ++k, i += width) accumulate(k, f(Pack<T>::load_unaligned(in + i)...));
    if (i < n) {
      int64_t rest = n - i;
      auto padded = [rest](const T* x) {
        alignas(64) T buffer[static_cast<size_t>(width)] = {};
        for (int64_t k = 0; k < rest; ++k) buffer[k] = x[k];
        return Pack<T>::load_aligned(buffer);
      };
      auto values = f(padded(in + i)...);
      for (int q = 0; q < Q; ++q) {
        alignas(64) T lanes[static_cast<size_t>(width)];
        values[static_cast<size_t>(q)].store_aligned(lanes);
        for (int64_t k = rest; k < width; ++k) lanes[k] = T(0);
        values[static_cast<size_t>(q)] = Pack<T>::load_aligned(lanes);
      }
      accumulate(kPacks - 1, values);
    }
    pending_ += n;
    if (pending_ >= 8192) flush();
  }
  double total(int q) {
    flush();
    return totals_[q];
  }

 private:
  static constexpr int64_t kStep = 128 / sizeof(T);
  static constexpr int kPacks = static_cast<int>(kStep / kPackSize<T>);

  FARRO_INLINE void accumulate(int k, const std::array<Pack<T>, Q>& values) {
    for (int q = 0; q < Q; ++q) slots_[q][k] += values[static_cast<size_t>(q)];
  }
  void flush() {
    if (pending_ == 0) return;
    pending_ = 0;
    for (int q = 0; q < Q; ++q) {
      alignas(64) T lanes[kStep];
      for (int k = 0; k < kPacks; ++k) {
        slots_[q][k].store_aligned(lanes + k * kPackSize<T>);
        slots_[q][k] = Pack<T>(T(0));
      }
      double sum = 0;
      for (int64_t j = 0; j < kStep; ++j) sum += static_cast<double>(lanes[j]);
      totals_[q] += sum;
    }
  }

  struct Zero : Pack<T> {
    Zero() : Pack<T>(T(0)) {}
    Zero& operator=(const Pack<T>& other) {
      Pack<T>::operator=(other);
      return *this;
    }
  };
  Zero slots_[Q][kPacks];
  double totals_[Q] = {};
  int64_t pending_ = 0;
};

/// Working memory of one block.
template <class T>
struct AlignedBuffer {
  explicit AlignedBuffer(int64_t n)
      : data(n > 0 ? static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), std::align_val_t(64))) : nullptr) {}
  AlignedBuffer(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { ::operator delete(data, std::align_val_t(64)); }
  T* data;
};

struct Add {
  template <class P>
  P operator()(P a, P b) const { return a + b; }
};
struct Largest {
  template <class P>
  P operator()(P a, P b) const { return xsimd::select((a > b) | !(a == a), a, b); }
};

}  // namespace farro::kernels
