#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
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

void add_options(CLI::App& app, Options& options);

}  // namespace example
