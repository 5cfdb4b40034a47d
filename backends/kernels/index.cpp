#include <farro/backends/kernels/index.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>

namespace farro::kernels {
namespace {

constexpr int64_t kGrain = 8192;

Walk walk_of(const ArrayView& array, int begin, int end) {
  Dims sizes, strides;
  for (int d = begin; d < end; ++d) {
    sizes.push_back(array.sizes[d]);
    strides.push_back(array.strides[d]);
  }
  return Walk(sizes, strides);
}

/// The dimensions before, within and after a selection; the middle ones are walked to a position.
struct Split {
  Walk outer, middle, inner;

  Split() = default;
  Split(const ArrayView& array, int first, int count)
      : outer(walk_of(array, 0, first)),
        middle(walk_of(array, first, first + count)),
        inner(walk_of(array, first + count, array.ndim())) {}
};

/// Calls f(offset, done, n, stride) for the innermost stretches of elements [begin, end) of a walk.
template <class F>
void for_stretches(const Walk& walk, int64_t begin, int64_t end, const F& f) {
  int64_t inner = walk.inner_size(), stride = walk.inner_stride();
  for (int64_t i = begin; i < end;) {
    int64_t n = std::min(end - i, inner - i % inner);
    f(walk.offset(i), i - begin, n, stride);
    i += n;
  }
}

template <class W>
struct TakeElement {
  W* out;
  const W* from;
  const int64_t* positions;
  int64_t count, width;
  Split split;
  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t row = i / width;
    out[i] = from[split.outer.offset(row / count) + split.middle.offset(positions[row % count]) +
                  split.inner.offset(i % width)];
  }
};

template <class W>
void take_words(const ArrayView& out, const ArrayView& from, const ArrayView& positions,
                const Selection& selection) {
  Split split(from, selection.first, selection.count);
  int64_t count = positions.numel(), width = split.inner.count(),
          rows = split.outer.count() * count;
  const int64_t* at_position = positions.as<const int64_t>();
  W* to = out.as<W>();
  const W* data = from.as<const W>();
  if (!out.device.is_host() || use_reference_kernels()) {
    for_each(out.device, "farro::take", rows * width,
             TakeElement<W>{to, data, at_position, count, width, split});
    return;
  }
  int64_t grain = std::max<int64_t>(kGrain / width, 1);
  double cost = 3 + 0.5 * static_cast<double>(width);
  parallel_blocks(out.device, "farro::take", {rows, grain, cost}, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const W* source =
          data + split.outer.offset(row / count) + split.middle.offset(at_position[row % count]);
      W* target = to + row * width;
      if (width == 1) {
        *target = *source;
        continue;
      }
      for_stretches(split.inner, 0, width,
                    [&](int64_t offset, int64_t done, int64_t n, int64_t stride) {
                      if (stride == 1) {
                        std::copy_n(source + offset, n, target + done);
                      } else {
                        for (int64_t i = 0; i < n; ++i)
                          target[done + i] = source[offset + i * stride];
                      }
                    });
    }
  });
}

/// Overwrites.
template <class W>
struct Assign {
  using Element = W;
  FARRO_FUNCTION void operator()(W& to, W value) const { to = value; }
};

/// Adds in the compute type.
template <class S>
struct AddScaled {
  using Element = S;
  using Compute = std::conditional_t<std::is_same_v<S, double>, double,
                                     std::conditional_t<std::is_integral_v<S>, int64_t, float>>;
  Compute alpha;
  FARRO_FUNCTION void operator()(S& to, S value) const {
    Compute sum = static_cast<Compute>(to) + alpha * static_cast<Compute>(value);
    if constexpr (std::is_same_v<S, bool>) {
      to = sum != 0;
    } else {
      to = static_cast<S>(sum);
    }
  }
};

/// One element outside of the indexed dimensions, all positions in turn: writes that meet keep
/// their order.
template <class Write>
struct WriteElement {
  using W = typename Write::Element;
  W* to;
  const W* values;
  const int64_t* positions;
  int64_t count, width;
  Split target, source;
  Write write;
  FARRO_FUNCTION void operator()(int64_t i) const {
    W* out = to + target.outer.offset(i / width) + target.inner.offset(i % width);
    const W* in = values + source.outer.offset(i / width) + source.inner.offset(i % width);
    for (int64_t p = 0; p < count; ++p)
      write(out[target.middle.offset(positions[p])], in[source.middle.offset(p)]);
  }
};

/// Blocks share out the elements outside of the indexed dimensions, never the positions.
template <class Write>
void write_words(const char* label, const ArrayView& to, const ArrayView& positions,
                 const ArrayView& values, const Selection& selection, const Write& write) {
  using W = typename Write::Element;
  WriteElement<Write> element{to.as<W>(),
                              values.as<const W>(),
                              positions.as<const int64_t>(),
                              positions.numel(),
                              1,
                              Split(to, selection.first, selection.count),
                              Split(values, selection.first, selection.positions_dims),
                              write};
  int64_t count = element.count, width = element.width = element.target.inner.count();
  int64_t n = element.target.outer.count() * width;
  if (count == 0 || n == 0) return;
  double cost = 3 * static_cast<double>(count);
  if (!to.device.is_host() || use_reference_kernels()) {
    for_each(to.device, label, n, element, cost);
    return;
  }
  const Walk& inner = element.target.inner;
  const Walk& value_inner = element.source.inner;
  bool rows = inner.sizes.size() <= 1 && value_inner.sizes.size() <= 1;
  int64_t grain = std::max<int64_t>(2 * kGrain / count, 16);
  parallel_blocks(to.device, label, {n, grain, cost}, [&](int64_t begin, int64_t end) {
    if (!rows) {
      for (int64_t i = begin; i < end; ++i) element(i);
      return;
    }
    int64_t step = inner.inner_stride(), value_step = value_inner.inner_stride();
    for (int64_t i = begin; i < end;) {
      int64_t left = i % width, stop = std::min(end - i, width - left);
      W* out = element.to + element.target.outer.offset(i / width) + left * step;
      const W* in = element.values + element.source.outer.offset(i / width) + left * value_step;
      for (int64_t p = 0; p < count; ++p) {
        W* out_row = out + element.target.middle.offset(element.positions[p]);
        const W* in_row = in + element.source.middle.offset(p);
        for (int64_t c = 0; c < stop; ++c) write(out_row[c * step], in_row[c * value_step]);
      }
      i += stop;
    }
  });
}

}  // namespace

void take(const ArrayView& out, const ArrayView& from, const ArrayView& positions,
          const Selection& selection) {
  if (out.numel() == 0) return;
  switch (size_of(out.dtype)) {
    case 1:
      return take_words<uint8_t>(out, from, positions, selection);
    case 2:
      return take_words<uint16_t>(out, from, positions, selection);
    case 4:
      return take_words<uint32_t>(out, from, positions, selection);
    default:
      return take_words<uint64_t>(out, from, positions, selection);
  }
}

void put(const ArrayView& to, const ArrayView& positions, const ArrayView& values,
         const Selection& selection) {
  const char* label = "farro::put";
  switch (size_of(to.dtype)) {
    case 1:
      return write_words(label, to, positions, values, selection, Assign<uint8_t>{});
    case 2:
      return write_words(label, to, positions, values, selection, Assign<uint16_t>{});
    case 4:
      return write_words(label, to, positions, values, selection, Assign<uint32_t>{});
    default:
      return write_words(label, to, positions, values, selection, Assign<uint64_t>{});
  }
}

void add_at(const ArrayView& to, const ArrayView& positions, const ArrayView& values, double alpha,
            const Selection& selection) {
  dispatch_dtype("add_at", to.dtype, kScalars, [&]<class S>() {
    using Add = AddScaled<S>;
    write_words("farro::add_at", to, positions, values, selection,
                Add{static_cast<typename Add::Compute>(alpha)});
  });
}

namespace {

/// Remembers an entry that is out of range: the first one on the host, any one on a device.
struct Flag {
  int64_t entry = -1;  ///< row-major number of the position
  int64_t value = 0;
  int64_t which = 0;
};

constexpr int kMaxIndices = kMaxDims;

/// Element i of the positions: checks and combines. Gives the number of the index at fault, or -1.
struct CombineElement {
  int64_t* positions;
  int count;
  const void* data[kMaxIndices];
  DType dtype[kMaxIndices];
  Walk walk[kMaxIndices];
  int64_t size[kMaxIndices];

  FARRO_FUNCTION int combine(int64_t i, int64_t& value) const {
    int64_t position = 0;
    for (int k = 0; k < count; ++k) {
      value = load_as<int64_t>(data[k], dtype[k], walk[k].offset(i));
      if (value < -size[k] || value >= size[k]) return k;
      position = position * size[k] + (value < 0 ? value + size[k] : value);
    }
    positions[i] = position;
    return -1;
  }
};

struct GatherPosition {
  int64_t* positions;
  const void* data;
  DType dtype;
  Walk walk;
  Dims index_sizes, sizes;
  int dim;

  FARRO_FUNCTION int combine(int64_t i, int64_t& value) const {
    value = load_as<int64_t>(data, dtype, walk.offset(i));
    int64_t size = sizes[dim];
    if (value < -size || value >= size) return 0;
    int64_t wrapped = value < 0 ? value + size : value;
    int64_t position = 0, scale = 1, rest = i;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      int64_t coordinate = rest % index_sizes[d];
      rest /= index_sizes[d];
      position += (d == dim ? wrapped : coordinate) * scale;
      scale *= sizes[d];
    }
    positions[i] = position;
    return -1;
  }
};

template <class Combine>
struct CombineOnDevice {
  Combine combine;
  Flag* flag;
  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t value = 0;
    int which = combine.combine(i, value);
    if (which >= 0) *flag = {i, value, which};
  }
};

template <class Combine>
Flag run_combine(const ArrayView& positions, const Combine& combine) {
  int64_t n = positions.numel();
  Flag flag;
  if (!positions.device.is_host()) {
    auto storage = Storage::allocate(sizeof(Flag), positions.device);
    constexpr int64_t words = sizeof(Flag) / sizeof(int64_t);
    ArrayView on_device{storage->data(), kInt64, positions.device, {words}, {1}};
    ArrayView on_host{&flag, kInt64, Device::of(0), {words}, {1}};
    copy(on_device, on_host);
    for_each(positions.device, "farro::positions", n,
             CombineOnDevice<Combine>{combine, static_cast<Flag*>(storage->data())});
    copy(on_host, on_device);
    return flag;
  }
  std::atomic<int64_t> first{n};
  parallel_blocks(positions.device, "farro::positions", {n, kGrain, 4},
                  [&](int64_t begin, int64_t end) {
                    int64_t value = 0;
                    for (int64_t i = begin; i < end; ++i) {
                      if (combine.combine(i, value) < 0) continue;
                      int64_t seen = first.load();
                      while (i < seen && !first.compare_exchange_weak(seen, i)) {
                      }
                      return;
                    }
                  });
  if (first < n) {
    flag.entry = first;
    flag.which = combine.combine(first, flag.value);
  }
  return flag;
}

std::optional<BadIndex> bad_index(const Flag& flag) {
  if (flag.entry < 0) return {};
  return BadIndex{flag.value, static_cast<int>(flag.which)};
}

}  // namespace

std::optional<BadIndex> combine_indices(const ArrayView& positions,
                                        std::span<const ArrayView> indices, const Dims& sizes) {
  CombineElement combine{};
  combine.positions = positions.as<int64_t>();
  combine.count = static_cast<int>(indices.size());
  for (size_t k = 0; k < indices.size(); ++k) {
    const ArrayView& index = indices[k];
    Dims strides(positions.ndim(), 0);
    int lead = positions.ndim() - index.ndim();
    for (int d = 0; d < index.ndim(); ++d)
      strides[d + lead] = index.sizes[d] == 1 ? 0 : index.strides[d];
    combine.data[k] = index.data;
    combine.dtype[k] = index.dtype;
    combine.walk[k] = Walk(positions.sizes, strides);
    combine.size[k] = sizes[static_cast<int>(k)];
  }
  return bad_index(run_combine(positions, combine));
}

std::optional<BadIndex> gather_positions(const ArrayView& positions, const ArrayView& index,
                                         const Dims& sizes, int dim) {
  GatherPosition combine{positions.as<int64_t>(),
                         index.data,
                         index.dtype,
                         Walk(index.sizes, index.strides),
                         index.sizes,
                         sizes,
                         dim};
  return bad_index(run_combine(positions, combine));
}

namespace {

/// Calls f(position) for each element in [begin, end) that is not 0.
template <class F>
void for_nonzero(const ArrayView& array, const Walk& walk, int64_t begin, int64_t end, const F& f) {
  if (array.dtype == kBool && walk.contiguous()) {
    const bool* data = array.as<const bool>();
    for (int64_t i = begin; i < end; ++i) {
      if (data[i]) f(i);
    }
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    if (load_as<double>(array.data, array.dtype, walk.offset(i)) != 0) f(i);
  }
}

/// A copy on the host of what lies on a device.
ArrayView on_host(const ArrayView& array, IntrusivePtr<Storage>& keep, bool copied) {
  if (array.device.is_host()) return array;
  keep = Storage::allocate(static_cast<size_t>(array.numel()) * size_of(array.dtype), Device());
  ArrayView result{keep->data(), array.dtype, Device(), array.sizes,
                   contiguous_strides(array.sizes)};
  if (copied) copy(result, array);
  return result;
}

std::vector<int64_t> count_blocks(const ArrayView& array, const Walk& walk, int64_t n) {
  std::vector<int64_t> counts(static_cast<size_t>((n + kGrain - 1) / kGrain));
  parallel_blocks(array.device, "farro::nonzero", {n, kGrain, 1}, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for_nonzero(array, walk, begin, end, [&](int64_t) { ++count; });
    counts[static_cast<size_t>(begin / kGrain)] = count;
  });
  return counts;
}

}  // namespace

int64_t count_nonzero(const ArrayView& array) {
  IntrusivePtr<Storage> keep;
  ArrayView host = on_host(array, keep, true);
  int64_t total = 0;
  for (int64_t count : count_blocks(host, Walk(host.sizes, host.strides), host.numel()))
    total += count;
  return total;
}

void nonzero_positions(const ArrayView& positions, const ArrayView& array) {
  IntrusivePtr<Storage> keep, keep_positions;
  ArrayView host = on_host(array, keep, true), out = on_host(positions, keep_positions, false);
  Walk walk(host.sizes, host.strides);
  int64_t n = host.numel();
  std::vector<int64_t> starts = count_blocks(host, walk, n);
  int64_t total = 0;
  for (int64_t& start : starts) total += std::exchange(start, total);
  parallel_blocks(host.device, "farro::nonzero", {n, kGrain, 1}, [&](int64_t begin, int64_t end) {
    int64_t* to = out.as<int64_t>() + starts[static_cast<size_t>(begin / kGrain)];
    for_nonzero(host, walk, begin, end, [&](int64_t i) { *to++ = i; });
  });
  if (!positions.device.is_host()) copy(positions, out);
}

namespace {

struct UnravelElement {
  int64_t* coordinates;
  const int64_t* positions;
  Dims sizes;
  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t rest = positions[i];
    int64_t* row = coordinates + i * sizes.size();
    for (int d = sizes.size() - 1; d >= 0; --d) {
      row[d] = rest % sizes[d];
      rest /= sizes[d];
    }
  }
};

}  // namespace

void unravel(const ArrayView& coordinates, const ArrayView& positions, const Dims& sizes) {
  for_each(positions.device, "farro::unravel", positions.numel(),
           UnravelElement{coordinates.as<int64_t>(), positions.as<const int64_t>(), sizes}, 8);
}

}  // namespace farro::kernels
