#include <farro/backends/kernels/stream.hpp>

#include <cstring>

#include <unistd.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

namespace farro::kernels {
namespace {

#ifdef __AVX__
constexpr bool kCanStream = true;
#else
constexpr bool kCanStream = false;
#endif

}  // namespace

int64_t& stream_threshold() {
  static int64_t bytes = [] {
    int64_t cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return cache > 0 ? cache : int64_t{32} << 20;
  }();
  return bytes;
}

bool streams(const void* to, int64_t bytes) {
  return kCanStream && bytes >= stream_threshold() && reinterpret_cast<uintptr_t>(to) % 64 == 0;
}

void stream_copy(void* to, const void* from, int64_t bytes) {
  int64_t done = 0;
#ifdef __AVX__
  for (; done + 64 <= bytes; done += 64) {
    auto* target = reinterpret_cast<__m256i*>(static_cast<char*>(to) + done);
    auto* source = reinterpret_cast<const __m256i*>(static_cast<const char*>(from) + done);
    _mm256_stream_si256(target, _mm256_loadu_si256(source));
    _mm256_stream_si256(target + 1, _mm256_loadu_si256(source + 1));
  }
#endif
  std::memcpy(static_cast<char*>(to) + done, static_cast<const char*>(from) + done,
              static_cast<size_t>(bytes - done));
}

void stream_done() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

}  // namespace farro::kernels
