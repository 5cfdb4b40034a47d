#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <thread>
#include <vector>

#include <farro/backends/error.hpp>
#include <farro/backends/memory.hpp>

namespace farro {
namespace {

#ifndef __SANITIZE_ADDRESS__
constexpr bool kCaching = true;
#else
constexpr bool kCaching = false;  // every block comes from the system then
#endif

constexpr size_t kSizes[] = {
    0, 1, 63, 64, 65, 2048, 2049, 5000, 100'000, 1 << 20, (1 << 20) + 1, 3 << 20, 40 << 20};

TEST_CASE("memory: blocks are aligned to 64 bytes and hold what was asked for") {
  for (size_t bytes : kSizes) {
    auto storage = Storage::allocate(bytes, Device());
    CHECK(reinterpret_cast<uintptr_t>(storage->data()) % 64 == 0);
    CHECK(storage->bytes() == bytes);
    std::memset(storage->data(), 0x5a, bytes);
  }
}

TEST_CASE("memory: live blocks do not overlap") {
  std::vector<IntrusivePtr<Storage>> live;
  for (int round = 0; round < 20; ++round) {
    for (size_t bytes : {64, 200, 3000, 70'000}) {
      live.push_back(Storage::allocate(bytes, Device()));
      std::memset(live.back()->data(), static_cast<int>(live.size() % 251), bytes);
    }
    if (round % 3 == 0) live.erase(live.begin());
  }
  bool intact = true;
  for (const auto& storage : live) {
    auto* bytes = static_cast<unsigned char*>(storage->data());
    for (size_t i = 1; i < storage->bytes(); ++i) intact = intact && bytes[i] == bytes[0];
  }
  CHECK(intact);
}

TEST_CASE("memory: statistics count what is handed out, its peak and requests") {
  Device device;
  MemoryStats before = memory_stats(device);
  reset_peak_memory_stats(device);

  auto a = Storage::allocate(1 << 20, device);
  auto b = Storage::allocate(8 << 20, device);
  MemoryStats during = memory_stats(device);
  b.reset();
  MemoryStats after = memory_stats(device);

  CHECK(during.allocated - before.allocated >= 9 << 20);
  CHECK(after.allocated - before.allocated >= 1 << 20);
  CHECK(during.allocated - after.allocated >= 8 << 20);
  CHECK(after.peak_allocated >= during.allocated);
  CHECK(during.allocations - before.allocations == 2);
  CHECK(during.reserved >= during.allocated);
}

TEST_CASE("memory: a repeated pattern asks the system for nothing", "[P4]") {
  if (!kCaching) SKIP("the sanitizer sees every block");
  auto step = [] {
    std::vector<IntrusivePtr<Storage>> live;
    for (size_t bytes : kSizes) live.push_back(Storage::allocate(bytes, Device()));
    for (size_t bytes : kSizes) live.push_back(Storage::allocate(bytes, Device()));
    void* node = detail::pool_allocate(120);
    detail::pool_free(node, 120);
  };
  step();
  int64_t before = memory_stats().system_allocations;

  for (int i = 0; i < 50; ++i) step();

  CHECK(memory_stats().system_allocations == before);
}

TEST_CASE("memory: empty_cache returns what is cached, and only that") {
  if (!kCaching) SKIP("the sanitizer sees every block");
  auto kept = Storage::allocate(16 << 20, Device());
  Storage::allocate(32 << 20, Device());
  int64_t before = memory_stats().reserved;

  empty_cache();

  CHECK(before - memory_stats().reserved >= 32 << 20);
  std::memset(kept->data(), 1, kept->bytes());
}

TEST_CASE("memory: blocks may be freed by another thread than took them", "[A17]") {
  int64_t before = memory_stats().allocated;
  for (int round = 0; round < 5; ++round) {
    std::vector<IntrusivePtr<Storage>> live;
    std::thread([&] {
      for (size_t bytes : kSizes) live.push_back(Storage::allocate(bytes, Device()));
    }).join();
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&live, t] {
        for (size_t i = t; i < live.size(); i += 4) live[i].reset();
        for (size_t bytes : kSizes)
          std::memset(Storage::allocate(bytes, Device())->data(), 1, bytes);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  CHECK(memory_stats().allocated == before);
}

TEST_CASE("memory: what a thread leaves behind serves the next one") {
  if (!kCaching) SKIP("the sanitizer sees every block");
  auto work = [] {
    std::vector<IntrusivePtr<Storage>> live;
    for (int i = 0; i < 200; ++i) live.push_back(Storage::allocate(1000, Device()));
  };
  std::thread(work).join();
  int64_t before = memory_stats().system_allocations;

  for (int i = 0; i < 10; ++i) std::thread(work).join();

  CHECK(memory_stats().system_allocations == before);
}

TEST_CASE("memory: impossible requests are a MemoryError and change nothing") {
  int64_t before = memory_stats().allocated;
  CHECK_THROWS_AS(Storage::allocate(size_t{1} << 63, Device()), MemoryError);
  CHECK_THROWS_AS(Storage::allocate(size_t{1} << 55, Device()), MemoryError);
  CHECK(memory_stats().allocated == before);
}

TEST_CASE("memory: a wrapped allocation is released with the last storage on it") {
  double value = 3;
  auto owner = std::make_shared<int>(1);
  {
    auto storage = Storage::wrap(&value, sizeof value, Device(), owner);
    auto second = storage;
    CHECK(owner.use_count() == 2);
    CHECK(storage->data() == &value);
  }
  CHECK(owner.use_count() == 1);
  Storage::wrap(&value, sizeof value, Device(), nullptr);
  CHECK(value == 3);
}

TEST_CASE("memory: versions rise one by one") {
  auto storage = Storage::allocate(8, Device());
  CHECK(storage->version() == 0);
  storage->bump_version();
  storage->bump_version();
  CHECK(storage->version() == 2);
}

}  // namespace
}  // namespace farro
