#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <tuple>

#include <support/compare.hpp>
#include <support/devices.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/view_bridge.hpp>

using namespace farro;
using autograd::Context;
using autograd::Function;
using autograd::Grads;
using Catch::Matchers::ContainsSubstring;
using farro::test::leaf;
using Inputs = std::vector<Tensor>;
using Values = std::vector<double>;

namespace {

/// x · y^n; the gradient of n is not wanted.
struct PowerProduct : Function<PowerProduct> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& y, int n) {
    ctx.save_for_backward({x, y});
    ctx.keep("n", n);
    return x * pow(y, n);
  }
  static Grads backward(Context& ctx, const Grads& dy) {
    Tensor x = ctx.saved(0), y = ctx.saved(1);
    int n = ctx.kept<int>("n");
    Grads result(3);
    if (ctx.needs_input_grad(0)) result[0] = dy[0] * pow(y, n);
    if (ctx.needs_input_grad(1)) result[1] = dy[0] * x * pow(y, n - 1) * n;
    return result;
  }
};

/// u's Laplacian along one dimension, with zeros beyond the ends.
template <class Backend, class Scalar>
struct Stencil1d {
  using View =
      Kokkos::View<const Scalar*, Kokkos::LayoutStride,
                   Kokkos::Device<typename Backend::ExecutionSpace, typename Backend::MemorySpace>,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Out =
      Kokkos::View<Scalar*, Kokkos::LayoutStride,
                   Kokkos::Device<typename Backend::ExecutionSpace, typename Backend::MemorySpace>,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  View u;
  Out out;
  KOKKOS_FUNCTION void operator()(int64_t i) const {
    Scalar left = i > 0 ? u(i - 1) : Scalar(0);
    Scalar right = i + 1 < static_cast<int64_t>(u.extent(0)) ? u(i + 1) : Scalar(0);
    out(i) = left - Scalar(2) * u(i) + right;
  }
};

struct Laplacian : Function<Laplacian> {
  static Tensor forward(Context& ctx, const Tensor& u) { return run(ctx, u); }
  // The matrix is symmetric.
  static Grads backward(Context&, const Grads& dy) { return {Laplacian::apply(dy[0])}; }

  static Tensor run(Context& ctx, const Tensor& u) {
    Tensor out = empty(u.sizes(), u.dtype(), u.device());
    dispatch(u, [&]<class Backend, class Scalar>() {
      if constexpr (std::is_floating_point_v<Scalar>) {
        Kokkos::RangePolicy<typename Backend::ExecutionSpace> range(0, u.numel());
        Kokkos::parallel_for("laplacian", range,
                             Stencil1d<Backend, Scalar>{ctx.view<const Scalar, 1, Backend>(u),
                                                        ctx.view<Scalar, 1, Backend>(out)});
      }
    });
    return out;
  }
};

struct Doubling : Function<Doubling> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    x.mul_(2.0);
    ctx.mark_dirty({x});
    return x;
  }
  static Grads backward(Context&, const Grads& dy) { return {dy[0] * 2.0}; }
};

struct SplitSign : Function<SplitSign> {
  static std::tuple<Tensor, Tensor, Tensor> forward(Context& ctx, const Tensor& x) {
    Tensor positive = relu(x), negative = relu(-x), mask = gt(x, 0.0);
    ctx.save_for_backward({mask});
    ctx.mark_non_differentiable({mask});
    return {positive, negative, mask};
  }
  static Grads backward(Context& ctx, const Grads& dy) {
    seen = {dy[0].defined(), dy[1].defined(), dy[2].defined()};
    Tensor mask = ctx.saved(0);
    return {where(mask, dy[0], -dy[1])};
  }
  static inline std::vector<bool> seen;
};

/// Its backward gives whatever a test wants.
struct Custom : Function<Custom> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& y) {
    ctx.set_materialize_grads(false);
    return x + y;
  }
  static Grads backward(Context&, const Grads& dy) { return result(dy[0]); }
  static inline std::function<Grads(const Tensor&)> result;
};

struct Once : Function<Once> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x;
  }
  static Grads backward(Context& ctx, const Grads& dy) { return {dy[0] * ctx.saved(0) * 2.0}; }
};

struct SavesResult : Function<SavesResult> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = exp(x);
    ctx.save_for_backward({y});
    return y;
  }
  static Grads backward(Context& ctx, const Grads& dy) { return {dy[0] * ctx.saved(0)}; }
};

struct Identity : Function<Identity> {
  static Tensor forward(Context&, const Tensor& x) { return x; }
  static Grads backward(Context&, const Tensor& dy) { return {dy}; }
};

/// Its backward takes the gradients one by one.
struct SumAndDifference : Function<SumAndDifference> {
  static std::pair<Tensor, Tensor> forward(Context&, const Tensor& x, const Tensor& y) {
    return {x + y, x - y};
  }
  static Grads backward(Context&, const Tensor& ds, const Tensor& dd) { return {ds + dd, ds - dd}; }
};

Tensor variable(const Dims& sizes, uint64_t seed = 1) {
  return test::random(sizes, {.requires_grad = true}, seed, 0.3, 1.6);
}

}  // namespace

TEST_CASE("a custom function has its gradient and, by recorded operations, its derivatives",
          "[A21]") {
  auto f = [](const Inputs& in) { return PowerProduct::apply(in[0], in[1], 3); };
  Inputs in{variable({2, 3}, 1), variable({2, 3}, 2)};
  CHECK(f(in).grad_fn()->name() == "PowerProductBackward");
  CHECK(gradcheck(f, in));
  CHECK(gradgradcheck(f, in));
  auto exponential = [](const Inputs& x) { return SavesResult::apply(x[0]); };
  CHECK(gradcheck(exponential, {in[0]}));
  CHECK(gradgradcheck(exponential, {in[0]}));
  CHECK_FALSE(f({in[0].detach(), in[1].detach()}).requires_grad());
  f({in[0], in[1].detach()}).sum().backward();
  CHECK(in[0].grad().defined());
  CHECK(gradcheck([](const Inputs& x) { return SumAndDifference::apply(x[0], x[1]); }, in));
}

TEST_CASE("a custom function runs a Kokkos kernel on tensors of every backend and layout",
          "[A22]") {
  for (Device device : test::host_devices()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      Tensor u = test::from_values({1, 4, 9, 16, 25}, {.dtype = dtype, .device = device});
      CHECK(Laplacian::apply(u).to_vector() == Values{2, 2, 2, 2, -34});
    }
    Tensor u = test::random({7}, {.device = device, .requires_grad = true});
    CHECK(gradcheck([](const Inputs& in) { return Laplacian::apply(in[0]); }, {u}));
    CHECK(gradgradcheck([](const Inputs& in) { return Laplacian::apply(in[0]); }, {u}));
    Tensor wide = test::random({7, 3}, {.device = device, .requires_grad = true});
    CHECK(gradcheck([](const Inputs& in) { return Laplacian::apply(in[0].select(1, 1)); }, {wide}));
  }
  Context context;
  Tensor t = test::from_values({1, 2, 3, 4, 5, 6}, Dims{2, 3}, {.dtype = kFloat32});
  auto v = context.view<const float, 2>(t.transpose(0, 1));
  CHECK(v.data() == t.data_ptr());
  CHECK(v(2, 1) == 6);
  CHECK_THROWS_AS((context.view<const double, 2>(t)), TypeError);
  CHECK_THROWS_AS((context.view<const float, 1>(t)), ShapeError);
}

TEST_CASE("an argument that a custom function changes in place gets a new history", "[A21][A2]") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 1.0;
  Tensor z = Doubling::apply(y);
  CHECK(z.is_same(y));
  CHECK(y.grad_fn()->name() == "DoublingBackward");
  (z * z).sum().backward();
  CHECK(x.grad().to_vector() == Values{8, 16});
  CHECK_THROWS_AS(Doubling::apply(x), GradError);
  Tensor plain = test::from_values({1, 2});
  uint32_t version = plain.version();
  CHECK_FALSE(Doubling::apply(plain).requires_grad());
  CHECK(plain.version() > version);
  CHECK(plain.to_vector() == Values{2, 4});
  // A view's change reaches the base.
  Tensor base = leaf({1, 2, 3}) * 1.0, part = base.slice(0, 1, 3);
  Doubling::apply(part);
  CHECK(base.grad_fn() != nullptr);
  CHECK(base.to_vector() == Values{1, 4, 6});
}

TEST_CASE("results of a custom function that have no gradient", "[A21]") {
  Tensor x = leaf({-1, 2, -3});
  auto [positive, negative, mask] = SplitSign::apply(x);
  CHECK(positive.requires_grad());
  CHECK_FALSE(mask.requires_grad());
  CHECK(mask.grad_fn() == nullptr);
  positive.sum().backward({}, {.retain_graph = true});
  CHECK(SplitSign::seen == std::vector<bool>{true, true, false});
  CHECK(x.grad().to_vector() == Values{0, 1, 0});
  x.set_grad({});
  (positive + negative * 3.0).sum().backward();
  CHECK(x.grad().to_vector() == Values{-3, 1, -3});
}

// Compared with PyTorch 1.13.
TEST_CASE("a custom function's post-hooks see which gradients arrived", "[A9][A21]") {
  Tensor x = leaf({-1, 2, -3});
  auto [positive, negative, mask] = SplitSign::apply(x);
  int runs = 0;
  positive.grad_fn()->register_hook([&](Grads& in, const Grads& out) {
    ++runs;
    CHECK(in[0].to_vector() == Values{0, 2, 0});
    CHECK(out[0].to_vector() == Values{2, 2, 2});
    CHECK_FALSE(out[1].defined());
  });
  (positive * 2.0).sum().backward();
  CHECK(runs == 1);
}

TEST_CASE("what backward of a custom function may give", "[A21]") {
  Tensor x = leaf({1, 2, 3}), y = leaf({4});
  auto run = [&](std::function<Grads(const Tensor&)> result) {
    Custom::result = std::move(result);
    x.set_grad({});
    y.set_grad({});
    Custom::apply(x, y).sum().backward();
  };
  run([](const Tensor& g) {
    return Grads{g, g};
  });  // the second one broadcasts from its input's shape
  CHECK(x.grad().to_vector() == Values{1, 1, 1});
  CHECK(y.grad().to_vector() == Values{3});
  run([](const Tensor& g) { return Grads{g, {}, {}, {}}; });
  CHECK_FALSE(y.grad().defined());
  run([](const Tensor& g) { return Grads{g.to(kFloat32), {}}; });
  CHECK(x.grad().dtype() == kFloat64);
  CHECK_THROWS_WITH(run([](const Tensor& g) { return Grads{g}; }),
                    ContainsSubstring("expected 2 gradients"));
  CHECK_THROWS_AS(run([](const Tensor& g) { return Grads{g, {}, g}; }), GradError);
  CHECK_THROWS_AS(run([](const Tensor& g) { return Grads{g.slice(0, 0, 2), {}}; }), GradError);
  CHECK_THROWS_AS(run([](const Tensor& g) { return Grads{g.sum(), {}}; }), GradError);
  run([](const Tensor& g) { return Grads{g, {}}; });
  CHECK(x.grad().to_vector() == Values{1, 1, 1});
}

TEST_CASE("the second derivative of a function that is once differentiable", "[A21]") {
  Tensor x = leaf({3});
  Tensor g = grad({Once::apply(x)}, {x}, {.create_graph = true})[0];
  CHECK(g.item() == 6);
  CHECK_THROWS_WITH(grad({g}, {x}), ContainsSubstring("once differentiable"));
}

TEST_CASE("saved tensors of a custom function are watched", "[A21][A3]") {
  Tensor x = leaf({1, 2}), y = leaf({3, 4}) * 1.0;
  Tensor z = PowerProduct::apply(x, y, 2);
  y.add_(1.0);
  CHECK_THROWS_AS(z.sum().backward(), GradError);
  Tensor w = PowerProduct::apply(x, y, 2).sum();
  w.backward();
  CHECK_THROWS_AS(w.backward(), GradError);
  Tensor same = Identity::apply(x);
  CHECK_FALSE(same.is_same(x));
  CHECK(same.data_ptr() == x.data_ptr());
  CHECK(same.grad_fn()->name() == "IdentityBackward");
  Context context;
  context.keep("n", 3);
  CHECK_THROWS_AS(context.kept<double>("n"), TypeError);
  CHECK_THROWS_AS(context.kept<int>("m"), KeyError);
}
