#include <catch2/catch_test_macros.hpp>

#include <array>

#include <farro/backends/random.hpp>

namespace farro {
namespace {

std::array<uint32_t, 4> words(uint64_t seed, uint64_t operation, uint64_t block) {
  Philox::Words w = Philox{seed, operation}(block);
  return {w.v[0], w.v[1], w.v[2], w.v[3]};
}

using Words = std::array<uint32_t, 4>;

// The known answers of philox4x32-10 that its authors publish with Random123.
TEST_CASE("philox: gives the published answers") {
  CHECK(words(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint64_t ones = ~uint64_t{0};
  CHECK(words(ones, ones, ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0
  CHECK(words(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("generator: operations have keys of their own, and a state can be set again") {
  Generator generator(7);
  Philox first = generator.next();
  Philox saved = generator.state();
  Philox second = generator.next();

  generator.set_state(saved);
  Philox again = generator.next();

  CHECK(first.seed == 7);
  CHECK(first.operation != second.operation);
  CHECK(again.operation == second.operation);
  generator.manual_seed(7);
  CHECK(generator.next().operation == first.operation);
}

TEST_CASE("generator: manual_seed sets the default one") {
  manual_seed(11);
  Philox a = default_generator().next();
  manual_seed(11);
  Philox b = default_generator().next();
  CHECK(a.seed == 11);
  CHECK(a.operation == b.operation);
}

}  // namespace
}  // namespace farro
