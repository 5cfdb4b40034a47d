#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <support/example_program.hpp>

/// The examples of hooks and of modules of one's own.
namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// What an example writes; it must succeed.
std::string output_of(const TemporaryFolder& folder, const std::string& example,
                      const std::string& arguments = "", const std::string& before = "") {
  ProgramResult result = run_example(folder, example, arguments, before);
  INFO(result.err);
  CHECK(result.status == 0);
  return result.out;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("example hooks: a table and a histogram for each layer") {
  TemporaryFolder folder;
  // With the images where they are installed, and without them.
  for (const char* before : {"", "FARRO_DATA_DIR=/nowhere"}) {
    std::string out = output_of(folder, "hooks", "--limit 32 --steps 2 --output drawn.svg", before);
    for (const char* layer : {"conv1", "pool1", "conv2", "pool2", "fc1", "dropout", "fc2"}) {
      CHECK_THAT(out, ContainsSubstring(layer));
    }
    CHECK_THAT(out,
               ContainsSubstring("[32, 64, 14, 14]") && ContainsSubstring("fc2 was called 1 time"));
    std::string svg = contents_of(folder / "drawn.svg");
    CHECK_THAT(svg, ContainsSubstring("conv1, gradient") && ContainsSubstring("</svg>"));
    CHECK(count(svg, "class=\"title\"") == 14);
    if (*before) CHECK_THAT(out, ContainsSubstring("No images"));
  }
}

TEST_CASE("example custom_module: runs from a lazy layer to a clone") {
  TemporaryFolder folder;
  std::string out = output_of(folder, "custom_module", "graph.svg");
  CHECK_THAT(out, ContainsSubstring("(bumps): LazyBumps(features=0, units=16)") &&
                      ContainsSubstring("bumps (Bumps)") && ContainsSubstring("sharpness 2"));
  CHECK_THAT(out, ContainsSubstring("largest difference of the copy: 0\n"));
  size_t at = out.find("500 steps: ");
  REQUIRE(at != out.npos);
  CHECK(std::stod(out.substr(at + 11)) < 0.05);
  CHECK_THAT(contents_of(folder / "graph.svg"), ContainsSubstring("bumps: Bumps"));
}

}  // namespace farro::test
