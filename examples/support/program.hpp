#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>

/// What the examples' main functions share.
namespace example {

/// An error as one line on the error stream; the exit status is 2.
inline int report_error(const std::string& program, std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  std::fflush(stdout);
  fmt::print(stderr, "{}: error: {}\n", program, text);
  return 2;
}

inline void add_backend_options(CLI::App& app, std::string& backend, int& threads) {
  app.add_option("--backend", backend, "serial, openmp or cuda; cpu is the best one on the host")
      ->capture_default_str();
  app.add_option("--threads", threads,
                 "threads of the OpenMP backend; 0 leaves the choice to OMP_NUM_THREADS")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

/// Reads the command line and runs `body`, which returns the exit status. 0 after --help, 2 after
/// an error.
template <class Body>
int run_program(CLI::App& app, int argc, char** argv, const Body& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report_error(app.get_name(), std::string(error.what()) + " (see --help)");
  }
  try {
    return body();
  } catch (const std::exception& error) {
    return report_error(app.get_name(), error.what());
  }
}

}  // namespace example
