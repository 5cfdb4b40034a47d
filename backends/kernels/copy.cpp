#include <farro/backends/kernels/copy.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/registry.hpp>

namespace farro::kernels {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kChunk =
    1024;  // elements converted at a time, through a buffer in the first-level cache
constexpr int64_t kTile = 32;  // rows and columns of a transposed tile

/// The strides of `from` seen with the sizes of `to`.
Dims broadcast_strides(const ArrayView& from, const Dims& sizes) {
  Dims strides(sizes.size(), 0);
  int lead = sizes.size() - from.ndim();
  for (int d = 0; d < from.ndim(); ++d)
    strides[d + lead] = from.sizes[d] == 1 ? 0 : from.strides[d];
  return strides;
}

/// Nested loops over two arrays, in the order of to's memory, with neighbours merged.
struct Pairing {
  Dims sizes, to, from;

  Pairing(const Dims& all_sizes, const Dims& to_strides, const Dims& from_strides) {
    int order[kMaxDims], n = 0;
    for (int d = 0; d < all_sizes.size(); ++d) {
      if (all_sizes[d] != 1) order[n++] = d;
    }
    std::stable_sort(order, order + n, [&](int a, int b) {
      return std::pair(std::abs(to_strides[a]), std::abs(from_strides[a])) >
             std::pair(std::abs(to_strides[b]), std::abs(from_strides[b]));
    });
    for (int i = 0; i < n; ++i)
      push(all_sizes[order[i]], to_strides[order[i]], from_strides[order[i]]);
    if (sizes.empty()) push(1, 1, 1);
  }

  int last() const { return sizes.size() - 1; }
  /// The rows are all dimensions but the innermost `inner` ones; gives the offsets of row r.
  std::pair<int64_t, int64_t> row(int64_t r, int inner) const {
    int64_t a = 0, b = 0;
    for (int d = sizes.size() - inner - 1; d >= 0; --d) {
      int64_t rest = r / sizes[d], i = r - rest * sizes[d];
      a += i * to[d];
      b += i * from[d];
      r = rest;
    }
    return {a, b};
  }
  int64_t rows(int inner) const {
    int64_t n = 1;
    for (int d = 0; d < sizes.size() - inner; ++d) n *= sizes[d];
    return n;
  }

 private:
  void push(int64_t size, int64_t to_stride, int64_t from_stride) {
    int l = last();
    if (l >= 0 && to[l] == to_stride * size && from[l] == from_stride * size) {
      sizes[l] *= size;
      to[l] = to_stride;
      from[l] = from_stride;
      return;
    }
    sizes.push_back(size);
    to.push_back(to_stride);
    from.push_back(from_stride);
  }
};

/// Moves words of a dtype's width, of which nothing else matters.
template <class W>
void copy_row(W* to, int64_t to_stride, const W* from, int64_t from_stride, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(W));
  } else if (to_stride == 1 && from_stride == 0) {
    std::fill_n(to, n, *from);
  } else if (to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

/// One long row, or many rows that the blocks share out; a row is never cut unless it is alone.
template <class W>
void copy_rows(Device device, W* to, const W* from, const Pairing& p) {
  int64_t inner = p.sizes[p.last()], rows = p.rows(1);
  int64_t ts = p.to[p.last()], fs = p.from[p.last()];
  double cost = ts == 1 && fs <= 1 ? sizeof(W) / 8.0 : 1.0;
  if (rows == 1) {
    parallel_blocks(device, "farro::copy", {inner, kGrain, cost}, [=](int64_t begin, int64_t end) {
      copy_row(to + begin * ts, ts, from + begin * fs, fs, end - begin);
    });
    return;
  }
  int64_t grain = std::max<int64_t>(kGrain / inner, 1);
  parallel_blocks(device, "farro::copy", {rows, grain, cost * static_cast<double>(inner) + 2},
                  [=, &p](int64_t begin, int64_t end) {
                    for (int64_t r = begin; r < end; ++r) {
                      auto [a, b] = p.row(r, 1);
                      copy_row(to + a, ts, from + b, fs, inner);
                    }
                  });
}

/// A matrix whose columns are contiguous in `from` and whose rows are in `to`, tile by tile.
template <class W>
void copy_transposed(Device device, W* to, const W* from, const Pairing& p) {
  int c = p.last(), r = c - 1;
  int64_t columns = p.sizes[c], height = p.sizes[r], to_row = p.to[r], from_column = p.from[c];
  int64_t bands = (height + kTile - 1) / kTile;
  int64_t grain = std::max<int64_t>(kGrain / (kTile * columns), 1);
  parallel_blocks(device, "farro::copy",
                  {p.rows(2) * bands, grain, static_cast<double>(kTile * columns)},
                  [=, &p](int64_t begin, int64_t end) {
                    for (int64_t item = begin; item < end; ++item) {
                      auto [a, b] = p.row(item / bands, 2);
                      int64_t top = item % bands * kTile, bottom = std::min(top + kTile, height);
                      for (int64_t left = 0; left < columns; left += kTile) {
                        int64_t right = std::min(left + kTile, columns);
                        for (int64_t i = top; i < bottom; ++i) {
                          for (int64_t j = left; j < right; ++j) {
                            to[a + i * to_row + j] = from[b + i + j * from_column];
                          }
                        }
                      }
                    }
                  });
}

template <class W>
void copy_words(Device device, void* to_data, const void* from_data, const Pairing& p) {
  W* to = static_cast<W*>(to_data);
  const W* from = static_cast<const W*>(from_data);
  int c = p.last();
  bool transposed =
      c >= 1 && p.to[c] == 1 && p.from[c] > 1 && p.from[c - 1] == 1 && p.sizes[c - 1] >= 8;
  if (transposed) {
    copy_transposed(device, to, from, p);
  } else {
    copy_rows(device, to, from, p);
  }
}

void copy_same_dtype(const ArrayView& to, const ArrayView& from, const Dims& from_strides) {
  Pairing p(to.sizes, to.strides, from_strides);
  switch (size_of(to.dtype)) {
    case 1:
      return copy_words<uint8_t>(to.device, to.data, from.data, p);
    case 2:
      return copy_words<uint16_t>(to.device, to.data, from.data, p);
    case 4:
      return copy_words<uint32_t>(to.device, to.data, from.data, p);
    default:
      return copy_words<uint64_t>(to.device, to.data, from.data, p);
  }
}

/// Converts run by run in T, the compute type of `from`, which holds all of its values.
template <class T>
void convert(const ArrayView& to, const ArrayView& from, const Dims& from_strides) {
  Walk out(to.sizes, to.strides), in(to.sizes, from_strides);
  bool write_in_place = to.dtype == dtype_of<T> && out.contiguous();
  bool read_in_place = from.dtype == dtype_of<T> && in.contiguous();
  parallel_blocks(to.device, "farro::copy", {to.numel(), kGrain, 1.0},
                  [&](int64_t begin, int64_t end) {
                    alignas(64) T buffer[kChunk];
                    for (int64_t i = begin; i < end; i += kChunk) {
                      int64_t n = std::min(kChunk, end - i);
                      if (read_in_place) {
                        write_run(to.data, to.dtype, out, i, n, from.as<const T>() + i);
                      } else if (write_in_place) {
                        read_run(from.data, from.dtype, in, i, n, to.as<T>() + i);
                      } else {
                        read_run(from.data, from.dtype, in, i, n, buffer);
                        write_run(to.data, to.dtype, out, i, n, buffer);
                      }
                    }
                  });
}

/// The plain kernel: element i of the row-major order.
template <class T>
struct CopyElement {
  void* to;
  const void* from;
  DType to_dtype, from_dtype;
  Walk out, in;
  FARRO_FUNCTION void operator()(int64_t i) const {
    store_as(to, to_dtype, out.offset(i), load_as<T>(from, from_dtype, in.offset(i)));
  }
};

template <class T>
struct FillElement {
  void* to;
  DType dtype;
  Walk out;
  T value;
  FARRO_FUNCTION void operator()(int64_t i) const { store_as(to, dtype, out.offset(i), value); }
};

void copy_elements(const ArrayView& to, const ArrayView& from, const Dims& from_strides) {
  dispatch_dtype("copy", compute_dtype(from.dtype), kComputeScalars, [&]<class T>() {
    for_each(to.device, "farro::copy", to.numel(),
             CopyElement<T>{to.data, from.data, to.dtype, from.dtype, Walk(to.sizes, to.strides),
                            Walk(to.sizes, from_strides)});
  });
}

/// A fresh contiguous array; `keep` owns it.
ArrayView stage(const Dims& sizes, DType dtype, Device device, IntrusivePtr<Storage>& keep) {
  keep = Storage::allocate(static_cast<size_t>(sizes.product()) * size_of(dtype), device);
  return {keep->data(), dtype, device, sizes, contiguous_strides(sizes)};
}

/// Between memory spaces: made contiguous and converted where it comes from, moved as bytes, spread
/// where it goes to.
void copy_across(const ArrayView& to, const ArrayView& from) {
  IntrusivePtr<Storage> keep_source, keep_target;
  ArrayView source = from, target = to;
  if (!from.contiguous() || from.dtype != to.dtype) {
    source = stage(from.sizes, to.dtype, from.device, keep_source);
    copy(source, from);
  }
  if (!to.contiguous() || !(from.sizes == to.sizes))
    target = stage(from.sizes, to.dtype, to.device, keep_target);
  fence(from.device);
  fence(to.device);
  uint8_t mover = to.device.is_host() ? from.device.backend() : to.device.backend();
  detail::backend_info(mover).copy(target.data, source.data,
                                   static_cast<size_t>(source.numel()) * size_of(to.dtype));
  if (keep_target) {
    copy(to, target);
    fence(to.device);
  }
}

bool same_memory(Device a, Device b) { return (a.is_host() && b.is_host()) || a == b; }

template <class T>
void fill_with(const ArrayView& to, T value) {
  if (to.numel() == 0) return;
  if (!to.device.is_host() || use_reference_kernels()) {
    for_each(to.device, "farro::fill", to.numel(),
             FillElement<T>{to.data, to.dtype, Walk(to.sizes, to.strides), value});
    return;
  }
  uint64_t word = 0;
  store_as(&word, to.dtype, 0, value);
  copy_same_dtype(to, {&word, to.dtype, to.device, {}, {}}, Dims(to.ndim(), 0));
}

}  // namespace

void copy(const ArrayView& to, const ArrayView& from) {
  if (to.numel() == 0) return;
  if (!same_memory(to.device, from.device)) return copy_across(to, from);
  Dims from_strides = broadcast_strides(from, to.sizes);
  if (!to.device.is_host() || use_reference_kernels()) return copy_elements(to, from, from_strides);
  if (to.dtype == from.dtype) return copy_same_dtype(to, from, from_strides);
  dispatch_dtype("copy", compute_dtype(from.dtype), kComputeScalars,
                 [&]<class T>() { convert<T>(to, from, from_strides); });
}

void fill(const ArrayView& to, double value) { fill_with(to, value); }
void fill(const ArrayView& to, int64_t value) { fill_with(to, value); }
void zero(const ArrayView& to) { fill_with(to, int64_t{0}); }

}  // namespace farro::kernels
