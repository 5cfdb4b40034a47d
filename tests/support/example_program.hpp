#pragma once

#include <string>

#include <support/temporary_folder.hpp>

namespace farro::test {

struct ProgramResult {
  int status = -1;  ///< 128 + the signal's number if one ended it
  std::string out, err;
};

std::string contents_of(const std::filesystem::path& path);

/// Runs an example in the shell, in that folder; `before` stands before its name.
ProgramResult run_example(const TemporaryFolder& folder, const std::string& example,
                          const std::string& arguments = "", const std::string& before = "");

/// CHECKs for status 2, nothing on the output and one line on the error stream that holds the text.
void check_one_line_error(const ProgramResult& result, const std::string& text);

/// The number that follows the last place of `label` in a text; fails the test where there is none.
double number_after(const std::string& text, const std::string& label);

}  // namespace farro::test
