#include <array>
#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/simd.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>

namespace farro::benchmarks {
namespace {

constexpr int kLength = 200;
const TensorOptions kSerial{.device = Device("serial")};

/// y = x; 200 times y = y · w; backward. `with_node` sees each node that was recorded.
template <class F>
Job chain(int64_t n, const F& with_node) {
  Tensor x = ones({n}, kSerial), w = full({n}, 1.0001, kSerial), grad = ones({n}, kSerial);
  x.requires_grad_();
  return [=] {
    Tensor y = x;
    for (int i = 0; i < kLength; ++i) {
      y = y * w;
      with_node(*y.grad_fn());
    }
    y.backward(grad);
    x.set_grad({});
  };
}

constexpr auto kNothing = [](autograd::Node&) {};
/// A hook before and one after the node's backward, which look and leave all as it is.
constexpr auto kHooks = [](autograd::Node& node) {
  node.register_prehook([](autograd::Grads& grads) { benchmark::DoNotOptimize(grads.size()); });
  node.register_hook([](autograd::Grads& grads, const autograd::Grads&) {
    benchmark::DoNotOptimize(grads.size());
  });
};

/// P1, P5: a recorded chain against LibTorch's, per operation.
Jobs chain_against_torch(int64_t n) {
  // Forward reads two arrays and writes one, and so does backward.
  double bytes = 6.0 * kLength * sizeof(float) * static_cast<double>(n);
  return {
      chain(n, kNothing), torch_reference::chain(n, kLength), {.bytes = bytes, .items = kLength}};
}

/// P3: with hooks against the same without.
Jobs hooks_against_none(int64_t n) {
  return {chain(n, kHooks), chain(n, kNothing), {.items = kLength}};
}

/// P3 without the price of registering: the hooks are set once, and backward goes through the same
/// graph again.
Jobs set_hooks_against_none(int64_t n) {
  auto backward_of = [n](const auto& with_node) -> Job {
    Tensor x = ones({n}, kSerial), w = full({n}, 1.0001, kSerial), grad = ones({n}, kSerial);
    x.requires_grad_();
    Tensor y = x;
    for (int i = 0; i < kLength; ++i) {
      y = y * w;
      with_node(*y.grad_fn());
    }
    return [=] {
      y.backward(grad, {.retain_graph = true});
      x.set_grad({});
    };
  };
  return {backward_of(kHooks), backward_of(kNothing), {.items = kLength}};
}

/// What two hooks cost at the least: a block for the two functions, moved into it, called once and
/// freed.
Jobs bare_hooks_against_none(int64_t n) {
  struct Block {
    autograd::NodePreHook before;
    autograd::NodePostHook after;
  };
  Job plain = chain(n, kNothing);
  auto bare = [](autograd::NodePreHook before, autograd::NodePostHook after) {
    void* memory = detail::pool_allocate(sizeof(Block));
    auto* block = new (memory) Block{std::move(before), std::move(after)};
    benchmark::DoNotOptimize(block);
    autograd::Grads grads;
    block->before(grads);
    block->after(grads, grads);
    block->~Block();
    detail::pool_free(memory, sizeof(Block));
  };
  Job with_bare = [=] {
    plain();
    for (int i = 0; i < kLength; ++i) {
      bare([](autograd::Grads& grads) { benchmark::DoNotOptimize(grads.size()); },
           [](autograd::Grads& grads, const autograd::Grads&) {
             benchmark::DoNotOptimize(grads.size());
           });
    }
  };
  return {with_bare, plain, {.items = kLength}};
}

/// P5 against what its arrays allow: the same products over as many buffers, without a tape.
Jobs chain_against_loops(int64_t n) {
  Tensor w = full({n}, 1.0001, kSerial);
  std::array<Tensor, 2> y{ones({n}, kSerial), ones({n}, kSerial)};
  auto multiply = [n](const Tensor& out, const Tensor& a, const Tensor& b) {
    auto* to = out.data<float>();
    const auto *x = a.data<float>(), *z = b.data<float>();
    for (int64_t i = 0; i + pack_size<float> <= n; i += pack_size<float>)
      simd::store(to + i, simd::load(x + i) * simd::load(z + i));
  };
  Job loops = [=] {
    for (size_t i = 0; i < kLength; ++i) multiply(y[(i + 1) % 2], y[i % 2], w);
    for (int i = 0; i < kLength; ++i) multiply(y[0], y[0], w);
  };
  return {chain(n, kNothing), loops, {.items = kLength}};
}

/// P2: one addition without grad.
Jobs add_without_grad(int64_t n) {
  Tensor a = ones({n}, kSerial), b = ones({n}, kSerial);
  Job ours = [=] {
    NoGrad guard;
    benchmark::DoNotOptimize(a + b);
  };
  return {ours, torch_reference::add(n), {}};
}

const bool registered = [] {
  for (int64_t n : {1, 64}) {
    std::string size = std::to_string(n);
    add_row("P1/chain/training/serial/f32/" + size, [=] { return chain_against_torch(n); });
    add_row("P2/add/forward/serial/f32/" + size, [=] { return add_without_grad(n); });
    add_row("P3/hooks/training/serial/f32/" + size, [=] { return hooks_against_none(n); });
    add_row("P3/bare_hooks/training/serial/f32/" + size,
            [=] { return bare_hooks_against_none(n); });
    add_row("P3/set_hooks/backward/serial/f32/" + size, [=] { return set_hooks_against_none(n); });
  }
  add_row("P5/chain/training/serial/f32/16384", [] { return chain_against_torch(16384); });
  add_row("P5/loops/training/serial/f32/16384", [] { return chain_against_loops(16384); });
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
