#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <support/temporary_folder.hpp>

using Catch::Matchers::ContainsSubstring;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("quickstart: learns the sine, and Kokkos adds no warnings where nobody binds threads") {
  farro::test::TemporaryFolder folder;
  std::string out = (folder / "out").string(), err = (folder / "err").string();
  std::string command = "env -u OMP_PROC_BIND -u KOKKOS_DISABLE_WARNINGS " FARRO_TEST_OUTPUT_DIR
                        "/../examples/quickstart";

  int status = std::system((command + " >" + out + " 2>" + err).c_str());

  CHECK(status == 0);
  CHECK_THAT(contents(out), ContainsSubstring("step 1000"));
  CHECK(contents(err) == "");
}
