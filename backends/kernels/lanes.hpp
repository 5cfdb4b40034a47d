#pragma once

/// Internal to host kernels: loops over rows of T in SIMD packs. Partial results are kept in a
/// fixed number of lanes, so that the bits do not depend on the width of the processor's registers.

#include <xsimd/xsimd.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>

#include <farro/backends/config.hpp>
#include <farro/backends/scratch.hpp>

namespace farro::kernels {

template <class T>
using Pack = xsimd::batch<T>;
template <class T>
inline constexpr int64_t kPackSize = static_cast<int64_t>(Pack<T>::size);
/// Lanes of partial results: 128 bytes.
template <class T>
inline constexpr int64_t kLanes = static_cast<int64_t>(128 / sizeof(T));

/// The first n (below a pack's size) elements, then zeros.
template <class T>
FARRO_INLINE Pack<T> load_first(const T* from, int64_t n) {
#ifdef __AVX2__
  if constexpr (sizeof(Pack<T>) == 32 && std::is_floating_point_v<T>) {
    alignas(32) static constexpr int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                     0,  0,  0,  0,  0,  0,  0,  0};
    const int32_t* at = mask + 8 - n * static_cast<int64_t>(sizeof(T) / 4);
    __m256i m = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    if constexpr (sizeof(T) == 4) {
      return Pack<T>(_mm256_maskload_ps(from, m));
    } else {
      return Pack<T>(_mm256_maskload_pd(from, m));
    }
  }
#endif
  alignas(64) T buffer[static_cast<size_t>(kPackSize<T>)] = {};
  for (int64_t k = 0; k < n; ++k) buffer[k] = from[k];
  return Pack<T>::load_aligned(buffer);
}

/// Stores the first n (below a pack's size) elements.
template <class T>
FARRO_INLINE void store_first(T* to, Pack<T> value, int64_t n) {
  alignas(64) T buffer[static_cast<size_t>(kPackSize<T>)];
  value.store_aligned(buffer);
  const T* from = buffer;
#pragma GCC unroll 4
  for (int64_t piece = kPackSize<T> / 2; piece > 0; piece /= 2) {
    if ((n & piece) == 0) continue;
    std::memcpy(to, from, static_cast<size_t>(piece) * sizeof(T));
    to += piece;
    from += piece;
  }
}

/// `value` in the first n lanes, `other` in the rest.
template <class T>
FARRO_INLINE Pack<T> keep_first(Pack<T> value, int64_t n, T other) {
  alignas(64) static constexpr auto numbers = [] {
    std::array<T, static_cast<size_t>(kPackSize<T>)> result{};
    for (size_t k = 0; k < result.size(); ++k) result[k] = static_cast<T>(k);
    return result;
  }();
  return xsimd::select(Pack<T>::load_aligned(numbers.data()) < Pack<T>(static_cast<T>(n)), value,
                       Pack<T>(other));
}

/// out[i] = f(in[i]…), in packs.
template <class T, class F, class... In>
FARRO_INLINE void map_row(int64_t n, T* out, const F& f, const In*... in) {
  constexpr int64_t width = kPackSize<T>;
  int64_t i = 0;
  for (; i + width <= n; i += width) f(Pack<T>::load_unaligned(in + i)...).store_unaligned(out + i);
  if (i < n) store_first(out + i, f(load_first(in + i, n - i)...), n - i);
}

struct Add {
  template <class P>
  FARRO_INLINE P operator()(P a, P b) const {
    return a + b;
  }
};
/// The larger one; of a number and a NaN, either.
struct Largest {
  template <class T>
  FARRO_INLINE Pack<T> operator()(Pack<T> a, Pack<T> b) const {
    return xsimd::max(a, b);
  }
  template <class T>
  requires std::is_floating_point_v<T> FARRO_INLINE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

/// Combines the lanes of a pack by halving.
template <class T, class Combine>
FARRO_INLINE T fold_pack(Pack<T> value, const Combine& combine) {
  alignas(64) T lanes[static_cast<size_t>(kPackSize<T>)];
  value.store_aligned(lanes);
#pragma GCC unroll 4
  for (int64_t half = kPackSize<T> / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < half; ++k) lanes[k] = combine(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

/// Sums (or maxima…) over a row: slot i mod Lanes takes combine(slot, f(in[i]…)), and the slots are
/// combined by halving.
template <int64_t Lanes, class T, class Combine, class F, class... In>
FARRO_INLINE T fold_lanes(int64_t n, T identity, const Combine& combine, const F& f,
                          const In*... in) {
  constexpr int64_t width = kPackSize<T>, packs = Lanes / width;
  Pack<T> slots[packs];
  for (int64_t k = 0; k < packs; ++k) slots[k] = Pack<T>(identity);
  int64_t i = 0;
  for (; i + Lanes <= n; i += Lanes) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < packs; ++k)
      slots[k] = combine(slots[k], f(Pack<T>::load_unaligned(in + i + k * width)...));
  }
#pragma GCC unroll 8
  for (int64_t k = 0; k < packs; ++k, i += width) {
    if (i + width <= n) {
      slots[k] = combine(slots[k], f(Pack<T>::load_unaligned(in + i)...));
    } else {
      if (i < n)
        slots[k] = combine(slots[k], keep_first(f(load_first(in + i, n - i)...), n - i, identity));
      break;
    }
  }
#pragma GCC unroll 4
  for (int64_t half = packs / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) slots[k] = combine(slots[k], slots[k + half]);
  }
  return fold_pack(slots[0], combine);
}

template <class T, class Combine, class F, class... In>
FARRO_INLINE T fold_row(int64_t n, T identity, const Combine& combine, const F& f,
                        const In*... in) {
  return fold_lanes<kLanes<T>>(n, identity, combine, f, in...);
}

/// map_row and the sum of what was stored.
template <class T, class F>
FARRO_INLINE T map_and_sum(int64_t n, T* out, const F& f, const T* in) {
  constexpr int64_t width = kPackSize<T>, packs = kLanes<T> / width;
  Pack<T> slots[packs];
  for (int64_t k = 0; k < packs; ++k) slots[k] = Pack<T>(T(0));
  auto step = [&](int64_t k, int64_t i) {
    Pack<T> y = f(Pack<T>::load_unaligned(in + i));
    y.store_unaligned(out + i);
    slots[k] += y;
  };
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < packs; ++k) step(k, i + k * width);
  }
#pragma GCC unroll 8
  for (int64_t k = 0; k < packs; ++k, i += width) {
    if (i + width <= n) {
      step(k, i);
    } else {
      if (i < n) {
        Pack<T> y = keep_first(f(load_first(in + i, n - i)), n - i, T(0));
        store_first(out + i, y, n - i);
        slots[k] += y;
      }
      break;
    }
  }
  for (int64_t half = packs / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) slots[k] += slots[k + half];
  }
  return fold_pack(slots[0], Add());
}

/// Q sums at once over many stretches: lanes in T, flushed into double totals after a few thousand
/// elements.
template <class T, int Q>
class LaneSums {
 public:
  LaneSums() { clear(); }

  /// Adds f(packs of the inputs…), a std::array of Q packs, over n elements.
  template <class F, class... In>
  FARRO_INLINE void add(int64_t n, const F& f, const In*... in) {
    constexpr int64_t width = kPackSize<T>;
    int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) {
#pragma GCC unroll 8
      for (int64_t k = 0; k < kPacks; ++k)
        accumulate(k, f(Pack<T>::load_unaligned(in + i + k * width)...));
    }
#pragma GCC unroll 8
    for (int64_t k = 0; k < kPacks; ++k, i += width) {
      if (i + width <= n) {
        accumulate(k, f(Pack<T>::load_unaligned(in + i)...));
      } else {
        if (i < n) {
          auto values = f(load_first(in + i, n - i)...);
          for (auto& value : values) value = keep_first(value, n - i, T(0));
          accumulate(k, values);
        }
        break;
      }
    }
    pending_ += n;
    if (pending_ >= 8192) flush();
  }
  double total(int q) {
    flush();
    return totals_[q];
  }

 private:
  static constexpr int64_t kPacks = kLanes<T> / kPackSize<T>;

  FARRO_INLINE void accumulate(int64_t k, const std::array<Pack<T>, Q>& values) {
    for (int q = 0; q < Q; ++q) slots_[q][k] += values[static_cast<size_t>(q)];
  }
  void clear() {
    for (int q = 0; q < Q; ++q) {
      for (int64_t k = 0; k < kPacks; ++k) slots_[q][k] = Pack<T>(T(0));
    }
  }
  void flush() {
    if (pending_ == 0) return;
    pending_ = 0;
    for (int q = 0; q < Q; ++q) {
      for (int64_t half = kPacks / 2; half > 0; half /= 2) {
        for (int64_t k = 0; k < half; ++k) slots_[q][k] += slots_[q][k + half];
      }
      totals_[q] += static_cast<double>(fold_pack(slots_[q][0], Add()));
    }
    clear();
  }

  Pack<T> slots_[Q][kPacks];
  double totals_[Q] = {};
  int64_t pending_ = 0;
};

/// Working memory of one block: n elements, aligned to 64 bytes.
template <class T>
class AlignedBuffer {
  Scratch scratch_;

 public:
  explicit AlignedBuffer(int64_t n)
      : scratch_(static_cast<size_t>(n) * sizeof(T)), data(scratch_.as<T>()) {}
  T* data;
};

}  // namespace farro::kernels
