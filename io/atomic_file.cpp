#include <farro/io/atomic_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <farro/backends/error.hpp>

namespace farro::io {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// What the user can do about a system error.
std::string advice(int error, const std::filesystem::path& folder) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return fmt::format("free space on the disk of {}, or choose another folder", folder.string());
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f), or choose another file system";
    case EACCES:
    case EPERM:
    case EROFS:
      return fmt::format("make {} writable, or choose another folder", folder.string());
    case ENOENT:
      return fmt::format("create the folder {} first", folder.string());
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
      return "choose another name";
    default:
      return "look at the disk, or choose another folder";
  }
}

/// The permissions that a new file gets.
mode_t new_file_mode() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::string operation)
    : path_(std::move(path)), operation_(std::move(operation)) {
  std::error_code ignored;
  target_ = path_;
  if (std::filesystem::is_symlink(path_, ignored)) {
    target_ = std::filesystem::weakly_canonical(path_, ignored);
    if (ignored) target_ = path_;
  }
  struct stat old {};
  bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) refuse(EISDIR, "opening");
  if (exists && !S_ISREG(old.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) refuse(errno, "opening");
    return;
  }
  // Unlike the folder, an old file that is write-protected would not stop a rename.
  if (exists && ::access(target_.c_str(), W_OK) != 0) refuse(errno, "opening");
  std::string name = target_.filename().string().substr(0, 200);
  temporary_ = (folder_of(target_) / ("." + name + ".XXXXXX")).string();
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    int error = errno;
    temporary_.clear();
    refuse(error, "opening");
  }
  ::fchmod(descriptor_, exists ? old.st_mode & 07777 : new_file_mode());
}

AtomicFile::~AtomicFile() {
  close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(errno, "writing");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (temporary_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) refuse(errno, "closing");
    return;
  }
  if (::fsync(descriptor_) != 0) refuse(errno, "writing");
  if (::close(std::exchange(descriptor_, -1)) != 0) refuse(errno, "closing");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(errno, "renaming");
  temporary_.clear();
  // The new name is to survive a power failure too; a file system that can't promise it is no
  // error.
  int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void AtomicFile::refuse(int error, std::string_view doing) const {
  std::error_code ignored;
  bool kept = !temporary_.empty() && std::filesystem::exists(target_, ignored);
  fail<FileError>(operation_, "{}: {} failed: {}; {}{}", path_.string(), doing,
                  std::strerror(error), advice(error, folder_of(target_)),
                  kept ? " (the old file was kept)" : "");
}

void AtomicFile::close() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void write_file(const std::filesystem::path& path, std::string_view contents,
                std::string operation) {
  AtomicFile file(path, std::move(operation));
  file.write(contents);
  file.commit();
}

}  // namespace farro::io
