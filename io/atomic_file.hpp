#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace farro::io {

/// Writes a file that appears under its name only when it is complete: the bytes go to a temporary
/// file in the same folder, which commit() forces to the disk and renames. Until then an older file
/// of that name stays as it is, and whatever ends the writing early leaves it so. A symbolic link
/// keeps pointing to the file it points to; something that is no regular file, like /dev/stdout, is
/// written straight into.
class AtomicFile {
 public:
  /// Throws FileError that says what to do: a missing folder, no permission, a full disk.
  /// `operation` begins its text.
  AtomicFile(std::filesystem::path path, std::string operation);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit();

 private:
  [[noreturn]] void refuse(int error, std::string_view doing) const;
  void close() noexcept;

  std::filesystem::path path_;    // as the caller named it
  std::filesystem::path target_;  // links followed
  std::string temporary_;         // empty: written straight into the target
  std::string operation_;
  int descriptor_ = -1;
};

/// Writes a whole file in one go.
void write_file(const std::filesystem::path& path, std::string_view contents,
                std::string operation = "write_file");

}  // namespace farro::io
