#include <farro/backends/kernels/reduce_plan.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>

#include <algorithm>
#include <bit>

// Within a block, element i goes to partial result i mod kSlots, and the slots are combined by
// halving. Rows (elements of one output side by side) keep the slots in vector registers; columns
// (outputs side by side) keep them in a tile that stays in the first-level cache. Both add in the
// same order, so that the layout may choose between them.

namespace farro::kernels {
namespace {

inline constexpr int64_t kSlots = 16;
/// Elements of the tile of a column reduction: a page for each slot.
template <class T>
inline constexpr int64_t kTile = static_cast<int64_t>(65536 / sizeof(T));

/// The reductions on numbers and on packs.
template <class Op>
struct Combined {
  template <class T>
  FARRO_INLINE T operator()(T a, T b) const {
    return Op::combine(a, b);
  }
  template <class T>
  FARRO_INLINE Pack<T> operator()(Pack<T> a, Pack<T> b) const {
    return pack(Op(), a, b);
  }

 private:
  template <class T>
  static Pack<T> pack(SumOf<T>, Pack<T> a, Pack<T> b) {
    return a + b;
  }
  template <class T>
  static Pack<T> pack(ProdOf<T>, Pack<T> a, Pack<T> b) {
    return a * b;
  }
  // xsimd 8's != is false for NaN, hence !(a == a).
  template <class T>
  static Pack<T> pack(MaxOf<T>, Pack<T> a, Pack<T> b) {
    return xsimd::select((a > b) | !(a == a), a, b);
  }
  template <class T>
  static Pack<T> pack(MinOf<T>, Pack<T> a, Pack<T> b) {
    return xsimd::select((a < b) | !(a == a), a, b);
  }
};

template <class T>
Pack<T> apply(AsIs<T>, Pack<T> x, Pack<T>) {
  return x;
}
template <class T>
Pack<T> apply(IsNonZero<T>, Pack<T> x, Pack<T>) {
  return xsimd::select(x == Pack<T>(T(0)), Pack<T>(T(0)), Pack<T>(T(1)));
}
template <class T>
Pack<T> apply(SquaredDeviation<T>, Pack<T> x, Pack<T> mean) {
  return (x - mean) * (x - mean);
}

/// Combines n partial results by halving, in place.
template <class T, class Op>
T tree(T* x, int64_t n) {
  if (n == 0) return Op::identity();
  for (int64_t half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)) / 2); half > 0;
       half /= 2) {
    for (int64_t i = 0; i + half < n; ++i) x[i] = Op::combine(x[i], x[i + half]);
    n = std::min(n, half);
  }
  return x[0];
}

/// One block of a row.
template <class T, class Op, class Transform>
T reduce_row(const T* x, int64_t n, T centre) {
  Pack<T> c(centre);
  return fold_lanes<kSlots>(
      n, Op::identity(), Combined<Op>(), [c](Pack<T> v) { return apply(Transform(), v, c); }, x);
}

/// to[i] = combine(to[i], from[i])
template <class T, class Op>
void combine_into(T* to, const T* from, int64_t n) {
  map_row(n, to, Combined<Op>(), const_cast<const T*>(to), from);
}

/// Rows [begin, end) of `columns` neighbouring outputs; element r lies at r's offset of the walk.
/// Leaves the results in the first row of `tile`.
template <class T, class Op, class Transform>
void reduce_columns(const ReduceJob<T>& job, int64_t base, int64_t begin, int64_t end,
                    int64_t columns, const T* centre, T* tile) {
  alignas(64) T buffer[kTile<T>];
  int64_t count = end - begin;
  for (int64_t r = 0; r < count; ++r) {
    const T* x = as_run(at(job.in, job.in_dtype, base + job.plan.reduced.offset(begin + r)),
                        job.in_dtype, columns, buffer);
    T* to = tile + (r % kSlots) * columns;
    if constexpr (!Transform::identity) {
      for (int64_t c = 0; c < columns; ++c)
        buffer[c] = Transform()(x[c], centre ? centre[c] : T(0));
      x = buffer;
    }
    if (r < kSlots) {
      std::copy_n(x, columns, to);
    } else {
      combine_into<T, Op>(to, x, columns);
    }
  }
  int64_t n = std::min(count, kSlots);
  for (int64_t half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)) / 2); half > 0;
       half /= 2) {
    for (int64_t i = 0; i + half < n; ++i)
      combine_into<T, Op>(tile + i * columns, tile + (i + half) * columns, columns);
    n = std::min(n, half);
  }
}

/// Where the results of blocks go: straight to the output if an output has one block, else to a
/// table.
template <class T, class Op>
class Results {
 public:
  explicit Results(const ReduceJob<T>& job) : job_(job), blocks_(job.plan.blocks()) {
    if (blocks_ > 1) {
      table_ = Storage::allocate(static_cast<size_t>(job.plan.outputs * blocks_) * sizeof(T),
                                 job.device);
    }
  }
  int64_t blocks() const { return blocks_; }
  T* table() const { return static_cast<T*>(table_->data()); }

  /// The results of outputs [first, first + n), in block `block`.
  void put(int64_t first, int64_t n, int64_t block, T* values) const {
    if (blocks_ > 1) {
      for (int64_t i = 0; i < n; ++i) table()[(first + i) * blocks_ + block] = values[i];
    } else {
      store(first, n, values);
    }
  }
  /// Combines the blocks of each output.
  void finish(const char* label) const {
    if (blocks_ == 1) return;
    LaunchShape shape{job_.plan.outputs, std::max<int64_t>(1, 1024 / blocks_),
                      static_cast<double>(blocks_)};
    parallel_blocks(job_.device, label, shape, [this](int64_t begin, int64_t end) {
      T values[1024];
      for (int64_t o = begin; o < end; ++o)
        values[o - begin] = tree<T, Op>(table() + o * blocks_, blocks_);
      store(begin, end - begin, values);
    });
  }

 private:
  void store(int64_t first, int64_t n, T* values) const {
    if (job_.divisor != T(1)) {
      for (int64_t i = 0; i < n; ++i) values[i] /= job_.divisor;
    }
    write_run(job_.out, job_.out_dtype, job_.plan.result, first, n, values);
  }

  const ReduceJob<T>& job_;
  int64_t blocks_;
  IntrusivePtr<Storage> table_;
};

template <class T, class Op, class Transform>
void run_rows(const char* label, const ReduceJob<T>& job, const Results<T, Op>& results) {
  const ReducePlan& plan = job.plan;
  int64_t blocks = results.blocks();
  int64_t length = std::min(plan.length, kReduceBlock);
  bool in_place = plan.reduced.contiguous() && job.in_dtype == dtype_of<T>;
  // Several outputs of one block each, or blocks of few outputs.
  int64_t grain =
      std::clamp<int64_t>(kReduceBlock / std::max<int64_t>(length, 1), 1, blocks == 1 ? 2048 : 1);
  parallel_blocks(
      job.device, label,
      {plan.outputs * blocks, grain,
       static_cast<double>(std::max<int64_t>(length, 4)) * (in_place ? 0.25 : 1)},
      [&](int64_t begin, int64_t end) {
        alignas(64) T buffer[kReduceBlock];
        T values[2048];
        for (int64_t item = begin; item < end; ++item) {
          int64_t o = blocks == 1 ? item : item / blocks, block = item - o * blocks;
          int64_t first = block * kReduceBlock, n = std::min(kReduceBlock, plan.length - first);
          int64_t base = plan.kept.offset(o);
          const T* x = buffer;
          if (in_place) {
            x = static_cast<const T*>(job.in) + base + first;
          } else {
            read_run(at(job.in, job.in_dtype, base), job.in_dtype, plan.reduced, first, n, buffer);
          }
          values[item - begin] =
              reduce_row<T, Op, Transform>(x, n, job.centre ? job.centre[o] : T(0));
        }
        if (blocks == 1) {
          results.put(begin, end - begin, 0, values);
        } else {
          results.put(begin / blocks, 1, begin % blocks, values);
        }
      });
}

template <class T, class Op, class Transform>
void run_columns(const char* label, const ReduceJob<T>& job, const Results<T, Op>& results) {
  const ReducePlan& plan = job.plan;
  int64_t blocks = results.blocks(), inner = plan.kept.inner_size();
  int64_t length = std::min(plan.length, kReduceBlock);
  int64_t width = std::max<int64_t>(kTile<T> / std::min<int64_t>(length, kSlots), 1);
  // Outputs of one inner stretch are cut into tiles of equal work.
  int64_t tiles = (inner + width - 1) / width, stretches = plan.outputs / inner;
  double cost = static_cast<double>(length * std::min(width, inner)) * 0.25;
  parallel_blocks(
      job.device, label, {stretches * tiles * blocks, 1, cost}, [&](int64_t begin, int64_t end) {
        alignas(64) T tile[kTile<T>];
        for (int64_t item = begin; item < end; ++item) {
          int64_t block = item % blocks, t = item / blocks % tiles, stretch = item / blocks / tiles;
          int64_t column = t * width, columns = std::min(width, inner - column),
                  o = stretch * inner + column;
          int64_t first = block * kReduceBlock, last = std::min(first + kReduceBlock, plan.length);
          reduce_columns<T, Op, Transform>(job, plan.kept.offset(o), first, last, columns,
                                           job.centre ? job.centre + o : nullptr, tile);
          results.put(o, columns, block, tile);
        }
      });
}

template <class T>
struct FillResult {
  Walk result;
  void* out;
  DType dtype;
  T value;
  FARRO_FUNCTION void operator()(int64_t i) const { store_as(out, dtype, result.offset(i), value); }
};

template <class T, template <class> class Op, template <class> class Transform>
void run(const char* label, const ReduceJob<T>& job);

/// Runs on a copy whose rows are contiguous.
template <class T, template <class> class Op, template <class> class Transform>
void run_straightened(const char* label, const ReduceJob<T>& job) {
  ArrayView from{const_cast<void*>(job.in), job.in_dtype, job.device, job.plan.kept.sizes,
                 job.plan.kept.strides};
  for (int d = 0; d < job.plan.reduced.sizes.size(); ++d) {
    from.sizes.push_back(job.plan.reduced.sizes[d]);
    from.strides.push_back(job.plan.reduced.strides[d]);
  }
  IntrusivePtr<Storage> storage =
      Storage::allocate(static_cast<size_t>(from.numel()) * sizeof(T), job.device);
  ArrayView straight{storage->data(), dtype_of<T>, job.device, from.sizes,
                     contiguous_strides(from.sizes)};
  copy(straight, from);
  ReduceJob<T> again = job;
  again.in = straight.data;
  again.in_dtype = straight.dtype;
  again.plan.kept = Walk({job.plan.outputs}, {job.plan.length});
  again.plan.reduced = Walk({job.plan.length}, {1});
  run<T, Op, Transform>(label, again);
}

template <class T, template <class> class Op, template <class> class Transform>
void run(const char* label, const ReduceJob<T>& job) {
  const ReducePlan& plan = job.plan;
  if (plan.outputs == 0) return;
  if (plan.length == 0) {
    for_each(job.device, label, plan.outputs,
             FillResult<T>{plan.result, job.out, job.out_dtype, job.empty / job.divisor});
    return;
  }
  if (use_reference_kernels() || !job.device.is_host()) {
    reduce_reference<T, Op, Transform>(label, job);
    return;
  }
  bool columns = plan.kept.inner_size() >= 4 && plan.kept.inner_stride() == 1 &&
                 !(plan.reduced.inner_stride() == 1 && plan.reduced.inner_size() > 1);
  // Rows that lie across memory are put straight first: a gather would touch each cache line again
  // and again.
  if (!columns && plan.length > 1 && plan.reduced.inner_stride() > 4 &&
      plan.length * plan.outputs > 4096) {
    run_straightened<T, Op, Transform>(label, job);
    return;
  }
  Results<T, Op<T>> results(job);
  if (columns) {
    run_columns<T, Op<T>, Transform<T>>(label, job, results);
  } else {
    run_rows<T, Op<T>, Transform<T>>(label, job, results);
  }
  results.finish(label);
}

template <class T>
ReduceJob<T> make_job(const ArrayView& out, const ArrayView& in) {
  ReduceJob<T> job;
  job.plan = ReducePlan(out, in);
  job.in = in.data;
  job.in_dtype = in.dtype;
  job.out = out.data;
  job.out_dtype = out.dtype;
  job.device = in.device;
  return job;
}

template <class T>
void reduce_as(const ArrayView& out, const ArrayView& in, ReduceOp op) {
  ReduceJob<T> job = make_job<T>(out, in);
  if (op == ReduceOp::Prod || op == ReduceOp::All) job.empty = T(1);
  if (op == ReduceOp::Max) job.empty = MaxOf<T>::identity();
  if (op == ReduceOp::Min) job.empty = MinOf<T>::identity();
  switch (op) {
    case ReduceOp::Mean:
      job.divisor = static_cast<T>(job.plan.length);
      [[fallthrough]];
    case ReduceOp::Sum:
      run<T, SumOf, AsIs>("farro::sum", job);
      break;
    case ReduceOp::Prod:
      run<T, ProdOf, AsIs>("farro::prod", job);
      break;
    case ReduceOp::Max:
      run<T, MaxOf, AsIs>("farro::max", job);
      break;
    case ReduceOp::Min:
      run<T, MinOf, AsIs>("farro::min", job);
      break;
    case ReduceOp::Any:
      run<T, MaxOf, IsNonZero>("farro::any", job);
      break;
    case ReduceOp::All:
      run<T, MinOf, IsNonZero>("farro::all", job);
      break;
  }
}

template <class T>
void variance_as(const ArrayView& out, const ArrayView* mean, const ArrayView& in,
                 double correction) {
  // Means in the compute type, one after another.
  IntrusivePtr<Storage> centre =
      Storage::allocate(static_cast<size_t>(out.numel()) * sizeof(T), in.device);
  ArrayView means{centre->data(), dtype_of<T>, in.device, out.sizes, contiguous_strides(out.sizes)};
  reduce_as<T>(means, in, ReduceOp::Mean);
  if (mean != nullptr) reduce_as<T>(*mean, means, ReduceOp::Sum);  // a copy
  ReduceJob<T> job = make_job<T>(out, in);
  job.centre = means.as<const T>();
  job.divisor = static_cast<T>(std::max(0.0, static_cast<double>(job.plan.length) - correction));
  run<T, SumOf, SquaredDeviation>("farro::var", job);
}

}  // namespace

void reduce(const ArrayView& out, const ArrayView& in, ReduceOp op) {
  dispatch_dtype("reduce", compute_dtype(in.dtype), kComputeScalars,
                 [&]<class T>() { reduce_as<T>(out, in, op); });
}

void variance(const ArrayView& out, const ArrayView* mean, const ArrayView& in, double correction) {
  dispatch_dtype("var", compute_dtype(in.dtype), kComputeFloats,
                 [&]<class T>() { variance_as<T>(out, mean, in, correction); });
}

}  // namespace farro::kernels
