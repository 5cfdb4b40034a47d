#include <Kokkos_Core.hpp>
#include <boost/hana/for_each.hpp>

#include <memory>
#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/backend.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/benchmarks/compare.hpp>

namespace farro::benchmarks {
namespace {

int threads_of(Device device) { return concurrency(device); }

/// Operands in an operation's domain.
template <class Op>
std::vector<Tensor> operands(int64_t n, Device device) {
  std::vector<Tensor> x;
  for (const Domain& domain : {Op::domain, Op::domain1}) {
    if (x.size() == Op::arity) break;
    x.push_back(rand({n}, {.device = device}) * (domain.hi - domain.lo) + domain.lo);
  }
  return x;
}

template <class Op>
Job forward(const std::vector<Tensor>& x) {
  if constexpr (Op::arity == 1) {
    return [x = x[0]] { benchmark::DoNotOptimize(pointwise(Op{}, x)); };
  } else {
    return [x = x[0], z = x[1]] { benchmark::DoNotOptimize(pointwise(Op{}, x, z)); };
  }
}

/// STREAM's triad over as many bytes as `bytes`, counted as STREAM counts them.
Job triad(double bytes, int threads) {
  auto n = static_cast<int64_t>(bytes / (3 * sizeof(double)));
  std::shared_ptr<double[]> memory(new double[static_cast<size_t>(3 * n)]);
  double *a = memory.get(), *b = a + n, *c = b + n;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) a[i] = b[i] = c[i] = 1;
  return [=] {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
    benchmark::DoNotOptimize(memory.get());
  };
}

/// P9: an operation that memory bounds against STREAM's triad over as many bytes.
template <class Op>
Jobs against_stream(int64_t n, Device device) {
  double bytes = static_cast<double>(n) * (Op::arity + 1) * sizeof(float);
  int threads = threads_of(device);
  return {forward<Op>(operands<Op>(n, device)), triad(bytes, threads), {.bytes = bytes}, threads};
}

/// What a programmer would write for one operation with Kokkos.
template <class Op, class Execution>
struct HandWritten {
  using View = Kokkos::View<float*, Execution>;
  View y, x, z;
  Op op;
  KOKKOS_FUNCTION void operator()(int64_t i) const {
    if constexpr (Op::arity == 1) {
      y(i) = op.template forward<float>(x(i));
    } else {
      y(i) = op.template forward<float>(x(i), z(i));
    }
  }
};

/// P8: an operation against the same functor in a hand-written Kokkos kernel.
template <class Op, class Backend>
Jobs against_kokkos(int64_t n) {
  using Execution = typename Backend::ExecutionSpace;
  using Functor = HandWritten<Op, Execution>;
  Device device = Device::of(Backend::id);
  std::vector<Tensor> x = operands<Op>(n, device);
  auto length = static_cast<size_t>(n);
  Functor functor{typename Functor::View("y", length), typename Functor::View("x", length),
                  typename Functor::View("z", length), Op{}};
  std::copy_n(x[0].template data<float>(), n, functor.x.data());
  std::copy_n(x.back().template data<float>(), n, functor.z.data());
  Job reference = [functor, n] {
    Kokkos::parallel_for("hand-written",
                         Kokkos::RangePolicy<Execution, Kokkos::IndexType<int64_t>>(0, n), functor);
    Execution().fence();
  };
  double bytes = static_cast<double>(n) * (Op::arity + 1) * sizeof(float);
  return {forward<Op>(x), reference, {.bytes = bytes}, threads_of(device)};
}

/// P18: OpenMP against Serial where the work is too small for a fork.
template <class Op>
Jobs openmp_against_serial(int64_t n) {
  double bytes = static_cast<double>(n) * (Op::arity + 1) * sizeof(float);
  return {forward<Op>(operands<Op>(n, "openmp")),
          forward<Op>(operands<Op>(n, "serial")),
          {.bytes = bytes}};
}

template <class Op>
void add_stream_rows() {
  constexpr int64_t n = int64_t{1} << 24;
  for (std::string device : {"serial", "openmp"}) {
    if (!is_available(device)) continue;
    add_row(std::string("P9/") + Op::name + "/forward/" + device + "/f32/" + std::to_string(n),
            [=] { return against_stream<Op>(n, Device(device)); });
  }
}

template <class Op>
void add_kokkos_rows() {
  boost::hana::for_each(kBackends, [](auto type) {
    using Backend = typename decltype(type)::type;
    if constexpr (is_host_backend<Backend>) {
      for (int64_t n : {int64_t{1} << 16, int64_t{1} << 20, int64_t{1} << 24}) {
        add_row(std::string("P8/") + Op::name + "/forward/" + std::string(Backend::name) + "/f32/" +
                    std::to_string(n),
                [=] { return against_kokkos<Op, Backend>(n); });
      }
    }
  });
}

const bool registered = [] {
  add_stream_rows<ops::Add>();
  add_stream_rows<ops::Mul>();
  add_stream_rows<ops::Relu>();
  add_stream_rows<ops::Sqrt>();
  add_kokkos_rows<ops::Mul>();
  add_kokkos_rows<ops::Tanh>();
  add_kokkos_rows<ops::Sigmoid>();
  if (is_available("openmp")) {
    for (int64_t n : {1, 64, 1024, 8192, 16384}) {
      std::string size = std::to_string(n);
      add_row("P18/mul/forward/openmp/f32/" + size,
              [=] { return openmp_against_serial<ops::Mul>(n); });
      add_row("P18/tanh/forward/openmp/f32/" + size,
              [=] { return openmp_against_serial<ops::Tanh>(n); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
