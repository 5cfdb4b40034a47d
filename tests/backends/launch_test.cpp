#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <atomic>
#include <numeric>
#include <vector>

#include <support/devices.hpp>
#include <support/threads.hpp>

#include <farro/backends/launch.hpp>

namespace farro {
namespace {

TEST_CASE("launch: blocks cover the range exactly once, and only the last is short") {
  Device device = GENERATE(from_range(test::host_devices()));
  int64_t n = GENERATE(0, 1, 7, 100, 4096, 100'003);
  int64_t grain = GENERATE(1, 3, 4096, 200'000);
  double cost = GENERATE(1.0, 1e5);
  std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
  std::atomic<int> odd{0};

  parallel_blocks(device, "farro::test", {n, grain, cost}, [&](int64_t begin, int64_t end) {
    bool whole = begin % grain == 0 && (end - begin == grain || end == n);
    if (!whole || end <= begin) ++odd;
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });

  bool once = true;
  for (const auto& count : seen) once = once && count == 1;
  CHECK(once);
  CHECK(odd == 0);
}

struct Square {
  int64_t* to;
  FARRO_FUNCTION void operator()(int64_t i) const { to[i] = i * i; }
};

TEST_CASE("launch: for_each calls a functor for each index") {
  Device device = GENERATE(from_range(test::host_devices()));
  std::vector<int64_t> squares(50'000);

  for_each(device, "farro::test", 50'000, Square{squares.data()});
  for_each(device, "farro::test", 0, Square{nullptr});

  bool right = true;
  for (size_t i = 0; i < squares.size(); ++i)
    right = right && squares[i] == static_cast<int64_t>(i * i);
  CHECK(right);
}

TEST_CASE("launch: small work and Serial run on the calling thread alone") {
  for (Device device : test::host_devices()) {
    bool serial = device.str() == "serial";
    CHECK(detail::runs_inline(device, {1000, 1, 1}));
    CHECK(detail::runs_inline(device, {1'000'000, 1'000'000, 1}));
    CHECK(detail::runs_inline(device, {1'000'000, 4096, 1}) == serial);
    CHECK(detail::runs_inline(device, {int64_t{1} << 40, 1, 1}) == serial);
  }
}

TEST_CASE("launch: several threads may launch at once", "[A17]") {
  std::vector<int64_t> sums(8);
  test::on_threads(8, [&](int t) {
    for (int round = 0; round < 20; ++round) {
      std::atomic<int64_t> sum{0};
      parallel_blocks(Device(), "farro::test", {100'000, 1000, 1}, [&](int64_t begin, int64_t end) {
        int64_t local = 0;
        for (int64_t i = begin; i < end; ++i) local += i;
        sum += local;
      });
      sums[static_cast<size_t>(t)] += sum;
    }
  });
  for (int64_t sum : sums) CHECK(sum == 20 * (int64_t{100'000} * 99'999 / 2));
}

TEST_CASE("launch: reference kernels are asked for by scope and thread") {
  CHECK_FALSE(use_reference_kernels());
  {
    ReferenceKernels outer;
    CHECK(use_reference_kernels());
    { ReferenceKernels inner; }
    CHECK(use_reference_kernels());
    bool elsewhere = true;
    test::on_threads(1, [&](int) { elsewhere = use_reference_kernels(); });
    CHECK_FALSE(elsewhere);
  }
  CHECK_FALSE(use_reference_kernels());
}

TEST_CASE("launch: host devices have threads and need no fence") {
  for (Device device : test::host_devices()) {
    CHECK(concurrency(device) >= 1);
    if (device.str() == "serial") CHECK(concurrency(device) == 1);
    fence(device);
  }
}

}  // namespace
}  // namespace farro
