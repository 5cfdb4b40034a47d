#include <farro/backends/kernels/matmul_problem.hpp>

#include <type_traits>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

namespace farro::kernels {
namespace {

/// What elements of type T are multiplied and added in; unsigned for integers, which wrap around.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double,
                                   std::conditional_t<std::is_integral_v<T>, uint64_t, float>>;

}  // namespace

template <class T>
struct PlainMatmul {
  using C = Compute<T>;
  MatmulProblem p;
  T* out;
  const T* a;
  const T* b;
  const T* bias;
  C alpha;
  bool accumulate;

  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t j = i % p.n, rest = i / p.n;
    int64_t row = rest % p.m;
    auto at = p.offsets(rest / p.m);
    const T* x = a + at.a + row * p.a_row;
    const T* y = b + at.b + j * p.b_col;
    C sum = C(0);
    for (int64_t q = 0; q < p.k; ++q) {
      sum += static_cast<C>(x[q * p.a_col]) * static_cast<C>(y[q * p.b_row]);
    }
    sum *= alpha;
    T& target = out[at.out + row * p.out_row + j * p.out_col];
    if (accumulate) sum += static_cast<C>(target);
    if (bias) sum += static_cast<C>(bias[j]);
    target = static_cast<T>(sum);
  }
};

void plain_matmul(const MatmulProblem& p, const ArrayView& out, const ArrayView& a,
                  const ArrayView& b, double alpha, bool accumulate, const ArrayView* bias) {
  constexpr auto kTypes = boost::hana::tuple_t<float, double, BFloat16, Float16, int64_t, int32_t,
                                               int16_t, int8_t, uint8_t>;
  dispatch_dtype("matmul", out.dtype, kTypes, [&]<class T>() {
    using C = Compute<T>;
    C factor;
    if constexpr (std::is_integral_v<T>) {
      factor = static_cast<C>(static_cast<int64_t>(alpha));
    } else {
      factor = static_cast<C>(alpha);
    }
    PlainMatmul<T> f{p,      out.as<T>(), a.as<T>(), b.as<T>(), bias ? bias->as<T>() : nullptr,
                     factor, accumulate};
    for_each(out.device, "farro::plain_matmul", p.batches() * p.m * p.n, f,
             static_cast<double>(p.k + 1));
  });
}

}  // namespace farro::kernels
