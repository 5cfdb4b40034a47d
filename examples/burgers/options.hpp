#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <numbers>
#include <string>

namespace example {

/// What the command line says.
struct BurgersOptions {
  std::string backend = "cpu";
  int threads = 0;
  uint64_t seed = 1;
  int64_t steps = 20000;
  std::string derivatives = "reverse";
  std::string dtype = "float32";
  int64_t points = 1024;
  int64_t width = 32;
  int64_t depth = 4;
  double lr = 3e-3;
  double viscosity = 0.01 / std::numbers::pi;
  std::filesystem::path output = "burgers";
};

void add_options(CLI::App& app, BurgersOptions& options);

}  // namespace example
