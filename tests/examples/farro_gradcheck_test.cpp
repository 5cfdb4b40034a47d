#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sstream>

#include <support/example_program.hpp>
#include <farro/backends/runtime.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE(
    "example farro-gradcheck: a row for each backend, dtype and check, which line up, and all is "
    "right") {
  test::TemporaryFolder folder;
  auto result = test::run_example(folder, "farro-gradcheck");
  CHECK(result.status == 0);
  CHECK(result.err == "");
  std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 2 + 4 * available_devices().size());
  for (const std::string& line : lines) CHECK(line.size() == lines[0].size());
  for (Device device : available_devices()) CHECK_THAT(result.out, ContainsSubstring(device.str()));
  CHECK_THAT(result.out,
             ContainsSubstring("float32  gradgradcheck") && !ContainsSubstring("WRONG"));
}

TEST_CASE(
    "example farro-gradcheck: a wrong sign is found in every mode, and reported, with status 1") {
  test::TemporaryFolder folder;
  auto result = test::run_example(folder, "farro-gradcheck", "--wrong");
  CHECK(result.status == 1);
  size_t rows = 0;
  for (const std::string& line : lines_of(result.out)) {
    if (line.find("  gradcheck") == line.npos) continue;
    ++rows;
    CHECK_THAT(line, ContainsSubstring("WRONG") && !ContainsSubstring("right"));
  }
  CHECK(rows == 2 * available_devices().size());
  CHECK_THAT(result.out, ContainsSubstring("output 0 with respect to input 0") &&
                             ContainsSubstring("numerical:") && ContainsSubstring("analytical:"));
}

TEST_CASE("example farro-gradcheck: other arguments are an error of one line") {
  test::TemporaryFolder folder;
  test::check_one_line_error(test::run_example(folder, "farro-gradcheck", "--nonsense"), "--wrong");
}
