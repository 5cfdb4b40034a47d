#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace example {

/// What the command line says.
struct Options {
  std::string backend = "cpu";
  int epochs = 3;
  int64_t batch_size = 64;
  int threads = 0;
  uint64_t seed = 1;
  std::string dtype = "float32";
  std::filesystem::path resume;
  bool json = false;
  std::filesystem::path data;
  std::filesystem::path output = "fashion-mnist";
  int64_t limit = 0;

  // What a checkpoint decides unless the command line does.
  bool batch_size_given = false, seed_given = false, dtype_given = false, limit_given = false;
};

/// Nothing where the program has done all that it was asked for, which is then its status: 0 after
/// --help, 2 after an error, of which one line was printed.
std::optional<Options> parse(int argc, char** argv, int& status);

}  // namespace example
