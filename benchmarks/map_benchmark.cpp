#include <Kokkos_Core.hpp>
#include <boost/hana/for_each.hpp>

#include <algorithm>
#include <string>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/map.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/backends/backend.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>

/// P6 to P8: a user's formula as one kernel, against LibTorch's composition and against a
/// hand-written Kokkos kernel.
namespace farro::benchmarks {
namespace {

const TensorOptions kSerial{.device = Device("serial")};

struct Gate {
  template <class T>
  FARRO_FUNCTION T operator()(T x, T w, T b) const {
    return math::tanh(x * w + b) * math::sigmoid(x) + x;
  }
};

Jobs forward(int64_t n) {
  Tensor x = randn({n}, kSerial), w = randn({n}, kSerial), b = randn({n}, kSerial);
  auto bytes = static_cast<double>(4 * n * static_cast<int64_t>(sizeof(float)));
  return {[=] { benchmark::DoNotOptimize(map(Gate{}, x, w, b)); },
          torch_reference::gate(n, false),
          {.bytes = bytes}};
}

Jobs forward_backward(int64_t n) {
  TensorOptions leaf{.device = Device("serial"), .requires_grad = true};
  Tensor x = randn({n}, leaf), w = randn({n}, leaf), b = randn({n}, leaf), dy = ones({n}, kSerial);
  auto bytes = static_cast<double>(11 * n * static_cast<int64_t>(sizeof(float)));
  Job ours = [=] {
    for (const Tensor& input : {x, w, b}) input.set_grad({});
    backward({map(Gate{}, x, w, b)}, {dy});
  };
  return {ours, torch_reference::gate(n, true), {.bytes = bytes}};
}

template <class Execution>
struct HandWritten {
  using View = Kokkos::View<float*, Execution>;
  View y, x, w, b;
  KOKKOS_FUNCTION void operator()(int64_t i) const { y(i) = Gate{}(x(i), w(i), b(i)); }
};

template <class Backend>
Jobs against_kokkos(int64_t n) {
  using Execution = typename Backend::ExecutionSpace;
  using View = typename HandWritten<Execution>::View;
  Device device = Device::of(Backend::id);
  Tensor inputs[3] = {randn({n}, {.device = device}), randn({n}, {.device = device}),
                      randn({n}, {.device = device})};
  auto length = static_cast<size_t>(n);
  HandWritten<Execution> functor{View("y", length), View("x", length), View("w", length),
                                 View("b", length)};
  View* views[3] = {&functor.x, &functor.w, &functor.b};
  for (size_t k = 0; k < 3; ++k) std::copy_n(inputs[k].data<float>(), n, views[k]->data());
  Job reference = [functor, n] {
    Kokkos::parallel_for("hand-written",
                         Kokkos::RangePolicy<Execution, Kokkos::IndexType<int64_t>>(0, n), functor);
    Execution().fence();
  };
  auto bytes = static_cast<double>(4 * n * static_cast<int64_t>(sizeof(float)));
  return {[x = inputs[0], w = inputs[1], b = inputs[2]] {
            benchmark::DoNotOptimize(map(Gate{}, x, w, b));
          },
          reference,
          {.bytes = bytes},
          concurrency(device)};
}

const bool registered = [] {
  for (int64_t n : {int64_t{1} << 16, int64_t{1} << 20, int64_t{1} << 24}) {
    std::string size = std::to_string(n);
    add_row("P6/map/forward/f32/" + size, [=] { return forward(n); });
    add_row("P7/map/forward+backward/f32/" + size, [=] { return forward_backward(n); });
    boost::hana::for_each(kBackends, [&](auto type) {
      using Backend = typename decltype(type)::type;
      if constexpr (is_host_backend<Backend>) {
        add_row("P8/map/forward/" + std::string(Backend::name) + "/f32/" + size,
                [=] { return against_kokkos<Backend>(n); });
      }
    });
  }
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
