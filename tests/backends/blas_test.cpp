#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include <farro/backends/blas.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/onednn.hpp>

#include <support/devices.hpp>

using namespace farro;

namespace {

std::vector<double> product_in_blocks(Device device, int64_t rows_per_block) {
  constexpr int n = 96;
  std::vector<double> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[static_cast<size_t>(i)] = (i * 7 % 13) / 13.0;
    b[static_cast<size_t>(i)] = (i * 5 % 11) / 11.0;
  }
  parallel_blocks(
      device, "test::blocks", {n, rows_per_block, 1e6}, [&](int64_t begin, int64_t end) {
        OneThread one;
        blas::gemm(blas::Gemm<double>{static_cast<int>(end - begin), n, n, 1,
                                      &a[static_cast<size_t>(begin * n)], n, false, b.data(), n,
                                      false, 0, &c[static_cast<size_t>(begin * n)], n});
      });
  return c;
}

}  // namespace

TEST_CASE("blas: names the library and its kernels, and leaves the environment alone") {
  INFO(blas::info());
  bool was_set = std::getenv("OPENBLAS_CORETYPE") != nullptr;
  if (!blas::available()) {
    CHECK(blas::info().find("own kernels") != std::string::npos);
    return;
  }
  CHECK(blas::info().find("kernels") != std::string::npos);
  CHECK((std::getenv("OPENBLAS_CORETYPE") != nullptr) == was_set);
}

#if defined(__x86_64__)
TEST_CASE("blas: picks kernels that use what the processor has") {
  if (!blas::available() || std::getenv("OPENBLAS_CORETYPE")) return;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    INFO(blas::info());
    for (const char* slow : {"Prescott", "Core2", "Nehalem", "Sandybridge", "unknown"}) {
      CHECK(blas::info().find(slow) == std::string::npos);
    }
  }
}
#endif

TEST_CASE("blas: calls from parallel blocks give the bits of calls one after the other",
          "[bits][A20]") {
  if (!blas::available()) return;
  auto expected = product_in_blocks(test::host_device(), 16);
  for (int repeat = 0; repeat < 20; ++repeat) REQUIRE(product_in_blocks(Device(), 16) == expected);
}

TEST_CASE("onednn: names itself") { CHECK(!onednn::info().empty()); }
