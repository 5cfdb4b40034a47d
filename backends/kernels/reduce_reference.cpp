#include <farro/backends/kernels/reduce_plan.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>

#include <algorithm>

namespace farro::kernels {
namespace {

/// Reduces one block of one output, element by element.
template <class T, class Op, class Transform>
struct ReduceBlock {
  Walk kept, reduced;
  const void* in;
  DType in_dtype;
  const T* centre;
  T* table;
  int64_t blocks, length;

  FARRO_FUNCTION void operator()(int64_t item) const {
    int64_t o = item / blocks, first = (item % blocks) * kReduceBlock;
    int64_t last = first + kReduceBlock < length ? first + kReduceBlock : length;
    int64_t base = kept.offset(o);
    T c = centre ? centre[o] : T(0);
    T value = Op::identity();
    for (int64_t i = first; i < last; ++i) {
      value =
          Op::combine(value, Transform()(load_as<T>(in, in_dtype, base + reduced.offset(i)), c));
    }
    table[item] = value;
  }
};

template <class T, class Op>
struct FinishBlocks {
  Walk result;
  void* out;
  DType out_dtype;
  const T* table;
  int64_t blocks;
  T divisor;

  FARRO_FUNCTION void operator()(int64_t o) const {
    T value = table[o * blocks];
    for (int64_t b = 1; b < blocks; ++b) value = Op::combine(value, table[o * blocks + b]);
    store_as(out, out_dtype, result.offset(o), divisor == T(1) ? value : T(value / divisor));
  }
};

template <class T>
struct ArgReduce {
  Walk kept, reduced, index_walk, value_walk;
  const void* in;
  DType in_dtype;
  int64_t* indices;
  void* values;
  DType value_dtype;
  int64_t length;
  bool largest;

  FARRO_FUNCTION void operator()(int64_t o) const {
    int64_t base = kept.offset(o), best = 0;
    T value = load_as<T>(in, in_dtype, base);
    for (int64_t i = 1; i < length && value == value; ++i) {
      T x = load_as<T>(in, in_dtype, base + reduced.offset(i));
      if ((largest ? x > value : x < value) || x != x) {
        value = x;
        best = i;
      }
    }
    indices[index_walk.offset(o)] = best;
    if (values) store_as(values, value_dtype, value_walk.offset(o), value);
  }
};

}  // namespace

template <class T, template <class> class Op, template <class> class Transform>
void reduce_reference(const char* label, const ReduceJob<T>& job) {
  const ReducePlan& plan = job.plan;
  int64_t blocks = plan.blocks();
  IntrusivePtr<Storage> table =
      Storage::allocate(static_cast<size_t>(plan.outputs * blocks) * sizeof(T), job.device);
  T* partial = static_cast<T*>(table->data());
  for_each(job.device, label, plan.outputs * blocks,
           ReduceBlock<T, Op<T>, Transform<T>>{plan.kept, plan.reduced, job.in, job.in_dtype,
                                               job.centre, partial, blocks, plan.length},
           static_cast<double>(std::min(plan.length, kReduceBlock)) * 4);
  for_each(
      job.device, label, plan.outputs,
      FinishBlocks<T, Op<T>>{plan.result, job.out, job.out_dtype, partial, blocks, job.divisor},
      static_cast<double>(blocks) + 4);
  if (!job.device.is_host()) fence(job.device);  // the table goes back to the allocator
}

void arg_reduce_reference(const ArrayView& indices, const ArrayView* values, const ArrayView& in,
                          bool largest) {
  ReducePlan plan(indices, in);
  dispatch_dtype("arg_reduce", compute_dtype(in.dtype), kComputeScalars, [&]<class T>() {
    for_each(in.device, largest ? "farro::argmax" : "farro::argmin", plan.outputs,
             ArgReduce<T>{plan.kept, plan.reduced, plan.result,
                          values ? Walk(values->sizes, values->strides) : Walk(), in.data, in.dtype,
                          indices.as<int64_t>(), values ? values->data : nullptr,
                          values ? values->dtype : in.dtype, plan.length, largest},
             static_cast<double>(plan.length) * 4);
  });
}

#define FARRO_REFERENCE(T, OP, TRANSFORM) \
  template void reduce_reference<T, OP, TRANSFORM>(const char*, const ReduceJob<T>&);
#define FARRO_REFERENCES(T)            \
  FARRO_REFERENCE(T, SumOf, AsIs)      \
  FARRO_REFERENCE(T, ProdOf, AsIs)     \
  FARRO_REFERENCE(T, MaxOf, AsIs)      \
  FARRO_REFERENCE(T, MinOf, AsIs)      \
  FARRO_REFERENCE(T, MaxOf, IsNonZero) \
  FARRO_REFERENCE(T, MinOf, IsNonZero)
FARRO_REFERENCES(float)
FARRO_REFERENCES(double)
FARRO_REFERENCES(int64_t)
FARRO_REFERENCE(float, SumOf, SquaredDeviation)
FARRO_REFERENCE(double, SumOf, SquaredDeviation)
#undef FARRO_REFERENCES
#undef FARRO_REFERENCE

}  // namespace farro::kernels
