#include <catch2/catch_test_macros.hpp>

#include <array>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>
#include <version>
#include <Kokkos_Core.hpp>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include <support/compare.hpp>
#include <farro/autograd/mdspan_bridge.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

namespace farro::test {
namespace {

/// Numbers 0, 1, 2, … in memory.
std::vector<double> counted(size_t n) {
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

/// As little as a type needs to be an mdspan for from_mdspan, so that the bridge is tested where
/// there is none.
template <class T, size_t Rank, class Reference = T&>
struct Minimal {
  using element_type = T;
  using reference = Reference;
  using rank_type = size_t;
  T* data;
  std::array<int, Rank> extents{}, steps{};
  bool strided = true;

  static constexpr size_t rank() { return Rank; }
  T* data_handle() const { return data; }
  int extent(size_t d) const { return extents[d]; }
  int stride(size_t d) const { return steps[d]; }
  bool is_strided() const { return strided; }
};

static_assert(PlainMdspan<Minimal<double, 2>>);
static_assert(PlainMdspan<Minimal<const float, 0>>);
static_assert(!PlainMdspan<Minimal<double, 2, double>>, "elements that an accessor makes");
static_assert(!PlainMdspan<std::vector<double>>);

/// Of the 3 x 4 matrix that `span` sees: the numbers 0 to 11 row by row, or column by column.
template <class Span>
void check_matrix(const Span& span, bool by_rows) {
  Tensor t = from_mdspan(span);
  CHECK(t.sizes() == Dims{3, 4});
  CHECK(t.strides() == (by_rows ? Dims{4, 1} : Dims{1, 3}));
  CHECK(t.data<double>() == span.data_handle());
  CHECK(t[{1, 2}].item() == (by_rows ? 6 : 7));
  t.index_put_({2, 3}, 50);
  CHECK(span.data_handle()[11] == 50);
  span.data_handle()[0] = 40;
  CHECK(t[{0, 0}].item() == 40);
  t.requires_grad_();
  (t * t).sum().backward();
  CHECK(t.grad()[{2, 3}].item() == 100);
}

/// What holds for the mdspan of both libraries; Library has their names.
template <class Library>
void check_library() {
  std::vector<double> numbers = counted(12);
  typename Library::template Span<double, typename Library::Right> rows(numbers.data(), 3, 4);
  check_matrix(rows, true);
  numbers = counted(12);
  typename Library::template Span<double, typename Library::Left> columns(numbers.data(), 3, 4);
  check_matrix(columns, false);

  // Each second column of three.
  numbers = counted(12);
  using Strided = typename Library::template Span<const double, typename Library::Stride>;
  Strided some(numbers.data(), typename Strided::mapping_type(typename Strided::extents_type(3, 2),
                                                              std::array{4, 2}));
  Tensor t = from_mdspan(some);
  CHECK(t.strides() == Dims{4, 2});
  CHECK(t.to_vector() == std::vector<double>{0, 2, 4, 6, 8, 10});
  typename Library::template Span<double, typename Library::Right> none(numbers.data(), 0, 4);
  CHECK(from_mdspan(none).sizes() == Dims{0, 4});
}

}  // namespace

TEST_CASE("from_mdspan: any type with the interface of an mdspan", "[A22]") {
  std::vector<double> numbers = counted(12);
  check_matrix(Minimal<double, 2>{numbers.data(), {3, 4}, {4, 1}}, true);
  numbers = counted(12);
  check_matrix(Minimal<double, 2>{numbers.data(), {3, 4}, {1, 3}}, false);
  float number = 5;
  Tensor scalar = from_mdspan(Minimal<const float, 0>{&number});
  CHECK(scalar.dim() == 0);
  CHECK(scalar.dtype() == kFloat32);
  CHECK(scalar.item() == 5);
  std::vector<int64_t> wide{1, 2, 3, 4};
  Minimal<int64_t, 8> eight{wide.data(), {1, 1, 2, 1, 1, 1, 1, 2}, {9, 9, 2, 9, 9, 9, 9, 1}};
  CHECK(from_mdspan(eight).to_vector() == std::vector<double>{1, 2, 3, 4});
  CHECK_THROWS_AS(from_mdspan(Minimal<double, 2>{numbers.data(), {3, 4}, {4, 1}, false}),
                  ShapeError);
  for (Device device : host_devices()) {
    CHECK(from_mdspan(Minimal<double, 1>{numbers.data(), {12}, {1}}, device).device() == device);
  }
}

#ifdef __cpp_lib_mdspan
struct Std {
  template <class T, class Layout>
  using Span = std::mdspan<T, std::dextents<int, 2>, Layout>;
  using Left = std::layout_left;
  using Right = std::layout_right;
  using Stride = std::layout_stride;
};
#endif

TEST_CASE("from_mdspan: a data handle that owns its memory is kept", "[A22]") {
  auto numbers = std::make_shared<double[]>(6);
  numbers[5] = 3;
  struct Owning : Minimal<double, 2> {
    std::shared_ptr<double[]> handle;
    const std::shared_ptr<double[]>& data_handle() const { return handle; }
  };
  Tensor t;
  {
    Owning span{{nullptr, {2, 3}, {3, 1}}, numbers};
    t = from_mdspan(span);
  }
  CHECK(numbers.use_count() == 2);
  CHECK(t[{1, 2}].item() == 3);
  t = Tensor();
  CHECK(numbers.use_count() == 1);
}

TEST_CASE("from_mdspan: std::mdspan", "[A22]") {
#ifdef __cpp_lib_mdspan
  check_library<Std>();
  std::vector<float> numbers{1, 2, 3};
  CHECK(from_mdspan(std::mdspan(numbers.data(), 3)).to_vector() == std::vector<double>{1, 2, 3});
#else
  SKIP("the compiler's library has no std::mdspan");
#endif
}

#ifdef KOKKOS_ENABLE_IMPL_MDSPAN
struct OfKokkos {
  template <class T, class Layout>
  using Span = Kokkos::mdspan<T, Kokkos::dextents<int, 2>, Layout>;
  using Left = Kokkos::layout_left;
  using Right = Kokkos::layout_right;
  using Stride = Kokkos::layout_stride;
};
#endif

TEST_CASE("from_mdspan: Kokkos::mdspan", "[A22]") {
#ifdef KOKKOS_ENABLE_IMPL_MDSPAN
  check_library<OfKokkos>();
  using View = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::DefaultHostExecutionSpace>;
  View view("view", 3, 4);
  view(1, 2) = 7;
  Tensor t = from_mdspan(view.to_mdspan());
  CHECK(t.data<double>() == view.data());
  CHECK(t[{1, 2}].item() == 7);
  // Since 4.6 what a managed view's mdspan sees lives on with it; before, it is a bare pointer.
  if constexpr (!std::is_pointer_v<std::remove_cvref_t<decltype(view.to_mdspan().data_handle())>>) {
    CHECK(view.use_count() == 2);
    view = View();
    CHECK(t[{1, 2}].item() == 7);
  }
#else
  SKIP("this Kokkos has no Kokkos::mdspan");
#endif
}

}  // namespace farro::test
