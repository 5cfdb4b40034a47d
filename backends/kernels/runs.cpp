#include <farro/backends/kernels/runs.hpp>

#include <farro/backends/dispatch_dtype.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace farro::kernels {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, BFloat16> || std::is_same_v<From, Float16>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16> || std::is_same_v<To, Float16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void copy_in(const From* from, int64_t stride, int64_t n, To* to) {
  if (stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(To));
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
    }
  } else if (stride == 0) {
    std::fill_n(to, n, convert<To>(*from));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i * stride]);
  }
}

template <class From, class To>
void copy_out(const From* from, int64_t stride, int64_t n, To* to) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * stride] = convert<To>(from[i]);
  }
}

/// Calls f(offset, done, count) for the innermost stretches of elements [begin, begin + n).
template <class F>
void for_stretches(const Walk& walk, int64_t begin, int64_t n, const F& f) {
  if (walk.sizes.size() <= 1) {
    f(walk.offset(begin), int64_t{0}, n);
    return;
  }
  int64_t inner = walk.inner_size();
  for (int64_t done = 0; done < n;) {
    int64_t position = begin + done;
    int64_t count = std::min(n - done, inner - position % inner);
    f(walk.offset(position), done, count);
    done += count;
  }
}

}  // namespace

Walk::Walk(const Dims& all_sizes, const Dims& all_strides) {
  for (int d = 0; d < all_sizes.size(); ++d) {
    if (all_sizes[d] == 1) continue;
    int last = sizes.size() - 1;
    if (last >= 0 && strides[last] == all_strides[d] * all_sizes[d]) {
      sizes[last] *= all_sizes[d];
      strides[last] = all_strides[d];
    } else {
      sizes.push_back(all_sizes[d]);
      strides.push_back(all_strides[d]);
    }
  }
}

template <class T>
void read_strided(const void* data, DType dtype, int64_t stride, int64_t n, T* to) {
  dispatch_dtype("read", dtype, kScalars,
                 [&]<class S>() { copy_in(static_cast<const S*>(data), stride, n, to); });
}

template <class T>
void write_strided(void* data, DType dtype, int64_t stride, int64_t n, const T* from) {
  dispatch_dtype("write", dtype, kScalars,
                 [&]<class S>() { copy_out(from, stride, n, static_cast<S*>(data)); });
}

template <class T>
void read_run(const void* data, DType dtype, const Walk& walk, int64_t begin, int64_t n, T* to) {
  if (n == 0) return;
  int64_t stride = walk.inner_stride();
  dispatch_dtype("read", dtype, kScalars, [&]<class S>() {
    for_stretches(walk, begin, n, [&](int64_t offset, int64_t done, int64_t count) {
      copy_in(static_cast<const S*>(data) + offset, stride, count, to + done);
    });
  });
}

template <class T>
void write_run(void* data, DType dtype, const Walk& walk, int64_t begin, int64_t n, const T* from) {
  if (n == 0) return;
  int64_t stride = walk.inner_stride();
  dispatch_dtype("write", dtype, kScalars, [&]<class S>() {
    for_stretches(walk, begin, n, [&](int64_t offset, int64_t done, int64_t count) {
      copy_out(from + done, stride, count, static_cast<S*>(data) + offset);
    });
  });
}

#define FARRO_RUNS(T)                                                               \
  template void read_strided<T>(const void*, DType, int64_t, int64_t, T*);          \
  template void write_strided<T>(void*, DType, int64_t, int64_t, const T*);         \
  template void read_run<T>(const void*, DType, const Walk&, int64_t, int64_t, T*); \
  template void write_run<T>(void*, DType, const Walk&, int64_t, int64_t, const T*);
FARRO_RUNS(float)
FARRO_RUNS(double)
FARRO_RUNS(int64_t)
#undef FARRO_RUNS

}  // namespace farro::kernels
