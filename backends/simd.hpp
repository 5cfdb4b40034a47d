#pragma once

/// SIMD packs of the host: Pack<T> is xsimd's batch for float and double, and T itself for what has
/// no pack. Formulas written for T work on both; conditions are written select(condition, a, b).
///
/// The end of a run is computed in a padded pack, so that an element's bits depend on its value
/// alone: not on its position, the layout or the thread.

#include <xsimd/xsimd.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <farro/backends/config.hpp>
#include <farro/backends/scalar_math.hpp>

namespace farro {

namespace simd {

template <class T>
struct PackOf {
  using type = T;
};
template <>
struct PackOf<float> {
  using type = xsimd::batch<float>;
};
template <>
struct PackOf<double> {
  using type = xsimd::batch<double>;
};

}  // namespace simd

template <class T>
using Pack = typename simd::PackOf<T>::type;

template <class T, class A>
inline constexpr bool is_pack<xsimd::batch<T, A>> = true;

/// The elements in a Pack<T>.
template <class T>
inline constexpr int64_t pack_size = static_cast<int64_t>(sizeof(Pack<T>) / sizeof(T));

namespace simd {

template <class P>
concept PackType = is_pack<P>;

template <class T>
FARRO_INLINE Pack<T> load(const T* from) {
  if constexpr (is_pack<Pack<T>>) {
    return Pack<T>::load_unaligned(from);
  } else {
    return *from;
  }
}

template <class T>
FARRO_INLINE void store(T* to, const Pack<T>& value) {
  if constexpr (is_pack<Pack<T>>) {
    value.store_unaligned(to);
  } else {
    *to = value;
  }
}

/// The first n < pack_size elements; the others repeat the first, so that they cost nothing
/// special.
template <class T>
FARRO_INLINE Pack<T> load_some(const T* from, int64_t n) {
  if constexpr (is_pack<Pack<T>>) {
    if (n == 1) return Pack<T>(*from);
    alignas(64) T padded[pack_size<T>];
    for (int64_t i = 0; i < pack_size<T>; ++i) padded[i] = from[i < n ? i : 0];
    return Pack<T>::load_aligned(padded);
  } else {
    return *from;
  }
}

template <class T>
FARRO_INLINE void store_some(T* to, const Pack<T>& value, int64_t n) {
  if constexpr (is_pack<Pack<T>>) {
    alignas(64) T padded[pack_size<T>];
    value.store_aligned(padded);
    for (int64_t i = 0; i < n; ++i) to[i] = padded[i];
  } else {
    *to = value;
  }
}

/// The bits of a pack as one of another type; xsimd asks for the pack up to version 8, for its
/// element later.
template <class To, class From>
FARRO_INLINE To bits_as(const From& x) {
  if constexpr (requires {
                  { xsimd::bitwise_cast<typename To::value_type>(x) } -> std::same_as<To>;
                }) {
    return xsimd::bitwise_cast<typename To::value_type>(x);
  } else {
    return xsimd::bitwise_cast<To>(x);
  }
}

/// x y + z, rounded once where the processor can. (xsimd 8.1 multiplies and adds apart in its
/// 512-bit packs.)
template <class P>
FARRO_INLINE P fma(const P& x, const P& y, const P& z) {
#ifdef __AVX512F__
  if constexpr (sizeof(P) == sizeof(__m512)) {
    if constexpr (std::is_same_v<typename P::value_type, float>) {
      return P(_mm512_fmadd_ps(x, y, z));
    } else {
      return P(_mm512_fmadd_pd(x, y, z));
    }
  } else {
    return xsimd::fma(x, y, z);
  }
#else
  return xsimd::fma(x, y, z);
#endif
}

/// f of each lane, for what has no SIMD formula.
template <class F, class T, class A, class... More>
FARRO_INLINE xsimd::batch<T, A> per_lane(const F& f, const xsimd::batch<T, A>& x,
                                         const More&... more) {
  constexpr size_t lanes = xsimd::batch<T, A>::size;
  alignas(64) T in[1 + sizeof...(More)][lanes];
  size_t k = 0;
  x.store_aligned(in[k++]);
  (more.store_aligned(in[k++]), ...);
  for (size_t i = 0; i < lanes; ++i) {
    if constexpr (sizeof...(More) == 0) {
      in[0][i] = f(in[0][i]);
    } else {
      in[0][i] = f(in[0][i], in[1][i]);
    }
  }
  return xsimd::batch<T, A>::load_aligned(in[0]);
}

}  // namespace simd

}  // namespace farro
