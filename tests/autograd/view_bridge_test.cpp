#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/view_bridge.hpp>

namespace farro::test {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

template <class Layout>
void check_layout() {
  Kokkos::View<double**, Layout, Space> view("view", 3, 4);
  Tensor t = from_view(view);
  CHECK(t.sizes() == Dims{3, 4});
  CHECK(t.dtype() == kFloat64);
  CHECK(t.data<double>() == view.data());

  view(1, 2) = 5;
  CHECK(t[{1, 2}].item() == 5);
  t.index_put_({2, 3}, 7);
  CHECK(view(2, 3) == 7);
  CHECK((t + t)[{2, 3}].item() == 14);
}

TEST_CASE("from_view: both sides see what the other writes, whatever the layout", "[A19][A22]") {
  check_layout<Kokkos::LayoutLeft>();
  check_layout<Kokkos::LayoutRight>();
}

TEST_CASE("from_view: strided, constant, 0-d, empty and 8-d views", "[A19][A22]") {
  Kokkos::View<float**, Kokkos::LayoutRight, Space> matrix("matrix", 4, 5);
  auto column = Kokkos::subview(matrix, Kokkos::ALL(), 2);
  matrix(3, 2) = 6;
  Tensor t = from_view(column);
  CHECK(t.strides() == Dims{5});
  CHECK(t[3].item() == 6);

  Kokkos::View<const float**, Kokkos::LayoutRight, Space> constant = matrix;
  CHECK(from_view(constant)[{3, 2}].item() == 6);

  Kokkos::View<int64_t, Space> number("number");
  number() = 9;
  CHECK(from_view(number).dim() == 0);
  CHECK(from_view(number).item_int() == 9);

  CHECK(from_view(Kokkos::View<double**, Space>("empty", 0, 3)).sizes() == Dims{0, 3});
  Kokkos::View<int32_t********, Space> wide("wide", 1, 2, 1, 2, 1, 2, 1, 2);
  wide(0, 1, 0, 1, 0, 1, 0, 1) = 4;
  Tensor w = from_view(wide);
  CHECK(w.dim() == 8);
  CHECK(w[{-1, -1, -1, -1, -1, -1, -1, -1}].item_int() == 4);
}

TEST_CASE("from_view: a managed view's allocation lives as long as the tensor", "[A22]") {
  Tensor t;
  {
    Kokkos::View<double*, Space> view("view", 1000);
    view(999) = 3;
    t = from_view(view).slice(0, 999);
    CHECK(view.use_count() >= 2);
  }
  CHECK(t.item() == 3);
}

TEST_CASE("from_view: gradients flow through tensors over views", "[A19]") {
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> view("view", 2, 3);
  for (int i = 0; i < 6; ++i) view(i / 3, i % 3) = i;
  Tensor x = from_view(view).requires_grad_();
  (x * x).backward(ones({2, 3}, {.dtype = kFloat64}));
  CHECK(x.grad().to_vector() == std::vector<double>{0, 2, 4, 6, 8, 10});
}

TEST_CASE("view_as: a typed view of the same elements", "[A22]") {
  for_each_device([](Device device) {
    if (!device.is_host()) return;
    Tensor x = arange(6, {.dtype = kFloat64, .device = device}).view({2, 3});
    dispatch(x, [&]<class B, class S>() {
      if constexpr (std::is_same_v<S, double> && is_host_backend<B>) {
        auto transposed = x.t().view_as<const S**, B>();
        CHECK(transposed(2, 0) == 2);
        auto view = x.view_as<S**, B>();
        view(1, 1) = 40;
        CHECK(x[{1, 1}].item() == 40);
        CHECK(view.data() == x.data<double>());
        CHECK_THROWS_AS((x.view_as<float**, B>()), TypeError);
        CHECK_THROWS_AS((x.view_as<double*, B>()), ShapeError);
        CHECK_THROWS_AS((x.view_as<double[2][4], B>()), ShapeError);
        CHECK((x.view_as<double[2][3], B>())(0, 1) == 1);
      } else {
        FAIL("dispatched to the wrong types");
      }
    });
  });
}

}  // namespace
}  // namespace farro::test
