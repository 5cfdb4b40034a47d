#pragma once

#include <cstdint>

#include <farro/backends/config.hpp>

namespace farro {

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC
/// 2011): a pure function from (key, counter) to 4 random words, so that element i of operation k
/// of a seed is the same number on every backend and thread.
struct Philox {
  struct Words {
    uint32_t v[4];
  };
  uint64_t seed = 0;
  uint64_t operation = 0;

  /// Words of the block with number `block`; element i of a sequence uses word i % 4 of block i
  /// / 4.
  FARRO_FUNCTION Words operator()(uint64_t block) const {
    uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                     static_cast<uint32_t>(operation), static_cast<uint32_t>(operation >> 32)};
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
      uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
      uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0;
      uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1;
      c[1] = static_cast<uint32_t>(p1);
      c[3] = static_cast<uint32_t>(p0);
      c[0] = n0;
      c[2] = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return {{c[0], c[1], c[2], c[3]}};
  }
};

/// A stream of random operations: a seed and the number of operations drawn from it so far. Not
/// thread-safe.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : state_{seed, 0} {}
  void manual_seed(uint64_t seed) { state_ = {seed, 0}; }
  uint64_t seed() const { return state_.seed; }
  /// The key of the next operation.
  Philox next() {
    Philox p = state_;
    ++state_.operation;
    return p;
  }
  /// (seed, operation) to save and set again, e.g. in a checkpoint.
  Philox state() const { return state_; }
  void set_state(Philox state) { state_ = state; }

 private:
  Philox state_;
};

/// The generator of operations that were given none. One for the process.
Generator& default_generator();
/// Seeds the default generator.
void manual_seed(uint64_t seed);

}  // namespace farro
