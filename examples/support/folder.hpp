#pragma once

#include <filesystem>
#include <system_error>

#include <farro/backends/error.hpp>

namespace example {

/// The folder that --output names, made if it is not there. FileError, saying what to do, when that
/// fails.
inline std::filesystem::path made_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    farro::fail<farro::FileError>(
        "output", "{}: making the folder failed: {}; choose another one with --output",
        folder.string(), error.message());
  }
  return folder;
}

}  // namespace example
