#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/example_program.hpp>

using Catch::Matchers::ContainsSubstring;

TEST_CASE("quickstart: learns the sine, and Kokkos adds no warnings where nobody binds threads") {
  farro::test::TemporaryFolder folder;

  auto result = farro::test::run_example(folder, "quickstart", "",
                                         "env -u OMP_PROC_BIND -u KOKKOS_DISABLE_WARNINGS");

  CHECK(result.status == 0);
  CHECK_THAT(result.out, ContainsSubstring("step 1000"));
  CHECK(result.err == "");
}
