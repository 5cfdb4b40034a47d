#include <support/example_program.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace farro::test {

using Catch::Matchers::ContainsSubstring;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ProgramResult run_example(const TemporaryFolder& folder, const std::string& example,
                          const std::string& arguments, const std::string& before) {
  std::string command = "cd " + folder.path().string() + " && " + before +
                        " " FARRO_TEST_OUTPUT_DIR "/../examples/" + example + " " + arguments +
                        " >out 2>err";
  int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          contents_of(folder / "out"), contents_of(folder / "err")};
}

void check_one_line_error(const ProgramResult& result, const std::string& text) {
  CHECK(result.status == 2);
  CHECK(result.out == "");
  CHECK_THAT(result.err, ContainsSubstring("error:") && ContainsSubstring(text));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

double number_after(const std::string& text, const std::string& label) {
  size_t at = text.rfind(label);
  INFO(text);
  REQUIRE(at != text.npos);
  return std::stod(text.substr(at + label.size()));
}

}  // namespace farro::test
