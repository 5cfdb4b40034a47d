#include <farro/backends/kernels/reduce_plan.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

#include <algorithm>

namespace farro::kernels {
namespace {

template <class T, bool Largest>
bool better(T x, T best) {
  if constexpr (Largest) {
    return x > best || (x != x && best == best);
  } else {
    return x < best || (x != x && best == best);
  }
}

/// The best of n elements side by side: its value first, over independent slots, then the first
/// place that has it.
template <class T, bool Largest>
void best_of(const T* x, int64_t n, int64_t first, T& value, int64_t& index) {
  if (n <= 64) {
    for (int64_t i = 0; i < n; ++i) {
      if (first + i == 0 || better<T, Largest>(x[i], value)) value = x[i], index = first + i;
    }
    return;
  }
  constexpr int slots = 32;
  T best[slots];
  std::fill_n(best, slots, x[0]);
  int64_t i = 0;
  for (; i + slots <= n; i += slots) {
    for (int k = 0; k < slots; ++k) {
      T v = x[i + k];
      best[k] = (Largest ? v > best[k] : v < best[k]) || v != v ? v : best[k];
    }
  }
  T top = best[0];
  for (int k = 1; k < slots; ++k) top = better<T, Largest>(best[k], top) ? best[k] : top;
  for (; i < n; ++i) top = better<T, Largest>(x[i], top) ? x[i] : top;
  if (first == 0 || better<T, Largest>(top, value)) {
    int64_t place = 0;
    while (!(x[place] == top || (x[place] != x[place] && top != top))) ++place;
    value = top;
    index = first + place;
  }
}

template <class T, bool Largest>
void arg_reduce_as(const ArrayView& indices, const ArrayView* values, const ArrayView& in) {
  ReducePlan plan(indices, in);
  bool in_place = plan.reduced.contiguous() && in.dtype == dtype_of<T>;
  bool columns = plan.kept.inner_size() >= 4 && plan.kept.inner_stride() == 1 &&
                 !(plan.reduced.inner_stride() == 1 && plan.reduced.inner_size() > 1);
  Walk value_walk = values ? Walk(values->sizes, values->strides) : Walk();
  constexpr int64_t chunk = 256;
  int64_t grain = std::clamp<int64_t>(kReduceBlock / plan.length, 1, chunk);
  if (columns) grain = std::min(chunk, std::max<int64_t>(grain, 64));
  parallel_blocks(
      in.device, Largest ? "farro::argmax" : "farro::argmin",
      {plan.outputs, grain, static_cast<double>(plan.length)}, [&](int64_t begin, int64_t end) {
        T best[chunk];
        int64_t place[chunk];
        alignas(64) T buffer[kReduceBlock];
        if (columns) {
          int64_t inner = plan.kept.inner_size();
          for (int64_t o = begin; o < end;) {
            int64_t n = std::min(end - o, inner - o % inner), base = plan.kept.offset(o);
            T* b = best + (o - begin);
            int64_t* p = place + (o - begin);
            for (int64_t r = 0; r < plan.length; ++r) {
              const T* x =
                  as_run(at(in.data, in.dtype, base + plan.reduced.offset(r)), in.dtype, n, buffer);
              for (int64_t c = 0; c < n; ++c) {
                bool take = r == 0 || better<T, Largest>(x[c], b[c]);
                b[c] = take ? x[c] : b[c];
                p[c] = take ? r : p[c];
              }
            }
            o += n;
          }
        } else {
          for (int64_t o = begin; o < end; ++o) {
            int64_t base = plan.kept.offset(o);
            for (int64_t first = 0; first < plan.length; first += kReduceBlock) {
              int64_t n = std::min(kReduceBlock, plan.length - first);
              const T* x = in_place ? static_cast<const T*>(in.data) + base + first : buffer;
              if (!in_place)
                read_run(at(in.data, in.dtype, base), in.dtype, plan.reduced, first, n, buffer);
              best_of<T, Largest>(x, n, first, best[o - begin], place[o - begin]);
            }
          }
        }
        write_run(indices.data, indices.dtype, plan.result, begin, end - begin, place);
        if (values) write_run(values->data, values->dtype, value_walk, begin, end - begin, best);
      });
}

}  // namespace

void arg_reduce(const ArrayView& indices, const ArrayView* values, const ArrayView& in,
                bool largest) {
  if (use_reference_kernels() || !in.device.is_host()) {
    arg_reduce_reference(indices, values, in, largest);
    return;
  }
  dispatch_dtype("arg_reduce", compute_dtype(in.dtype), kComputeScalars, [&]<class T>() {
    if (largest) {
      arg_reduce_as<T, true>(indices, values, in);
    } else {
      arg_reduce_as<T, false>(indices, values, in);
    }
  });
}

}  // namespace farro::kernels
