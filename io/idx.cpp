#include <farro/io/idx.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

namespace farro::io {
namespace {

/// A file whose bytes come out decompressed if they were compressed.
class Input {
 public:
  explicit Input(const std::filesystem::path& path) : name_(path.string()) {
    std::error_code error;
    auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail<FileError>("read_idx", "{}: no such file", name_);
    if (!std::filesystem::is_regular_file(status))
      bad("expected a regular file, got something else");
    bytes_ = std::filesystem::file_size(path, error);
    file_ = gzopen(path.c_str(), "rb");
    if (!file_) fail<FileError>("read_idx", "{}: opening failed: {}", name_, std::strerror(errno));
    gzbuffer(file_, 1 << 18);
  }
  ~Input() { gzclose(file_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  template <class... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> text, Args&&... args) const {
    fail<FileError>("read_idx", "{}: {}", name_, fmt::format(text, std::forward<Args>(args)...));
  }

  /// Reads up to `bytes` bytes; fewer at the end of the file.
  uint64_t read(void* to, uint64_t bytes) {
    uint64_t done = 0;
    while (done < bytes) {
      unsigned part = static_cast<unsigned>(std::min<uint64_t>(bytes - done, 1u << 30));
      int got = gzread(file_, static_cast<char*>(to) + done, part);
      int error = Z_OK;
      const char* text = gzerror(file_, &error);
      if (error == Z_BUF_ERROR) bad("expected complete compressed data, got a truncated file");
      if (got < 0 || error < 0)
        bad("decompressing failed: {}", error == Z_ERRNO ? std::strerror(errno) : text);
      if (got == 0) break;
      done += static_cast<uint64_t>(got);
    }
    return done;
  }
  /// The most bytes that can come out: deflate shrinks by a factor of 1032 at best.
  uint64_t most_bytes() const {
    return gzdirect(file_)                                        ? bytes_
           : bytes_ < std::numeric_limits<uint64_t>::max() / 1033 ? bytes_ * 1033
                                                                  : bytes_;
  }

 private:
  std::string name_;
  uint64_t bytes_ = 0;
  gzFile file_ = nullptr;
};

std::optional<DType> dtype_of_code(unsigned char code) {
  switch (code) {
    case 0x08:
      return kUInt8;
    case 0x09:
      return kInt8;
    case 0x0B:
      return kInt16;
    case 0x0C:
      return kInt32;
    case 0x0D:
      return kFloat32;
    case 0x0E:
      return kFloat64;
    default:
      return {};
  }
}

void swap_bytes(char* at, uint64_t count, size_t width) {
  for (uint64_t i = 0; i < count; ++i, at += width) std::reverse(at, at + width);
}

}  // namespace

Tensor read_idx(const std::filesystem::path& path) {
  Input input(path);
  unsigned char magic[4];
  if (uint64_t got = input.read(magic, 4); got < 4)
    input.bad("expected at least 4 bytes, got {}", got);
  std::optional<DType> dtype = dtype_of_code(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !dtype || magic[3] == 0 || magic[3] > kMaxDims) {
    input.bad(
        "expected an IDX file (00 00, a type, 1 to {} dimensions), got {:02x} {:02x} {:02x} {:02x}",
        kMaxDims, magic[0], magic[1], magic[2], magic[3]);
  }
  Dims sizes;
  unsigned __int128 bytes = size_of(*dtype);
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char b[4];
    if (input.read(b, 4) < 4) input.bad("expected {} sizes, got {}", magic[3], i);
    sizes.push_back(int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | int64_t{b[3]});
    // Sizes have 32 bits and the product stops at 63, so that it can't wrap.
    bytes *= static_cast<uint64_t>(std::max<int64_t>(sizes.back(), 1));
    if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      input.bad("expected less than 2^63 bytes, got sizes {}", to_string(sizes));
    }
  }
  uint64_t wanted = static_cast<uint64_t>(sizes.product()) * size_of(*dtype);
  if (wanted > input.most_bytes()) {
    input.bad("expected {} bytes of shape {}, got a file that can't hold more than {}", wanted,
              to_string(sizes), input.most_bytes());
  }
  Tensor tensor = empty(sizes, *dtype, Device());
  uint64_t got = input.read(tensor.data_ptr(), wanted);
  if (got < wanted)
    input.bad("expected {} bytes of shape {}, got {}", wanted, to_string(sizes), got);
  char rest;
  if (input.read(&rest, 1) != 0)
    input.bad("expected {} bytes of shape {}, got more", wanted, to_string(sizes));
  if (size_of(*dtype) > 1) {
    swap_bytes(static_cast<char*>(tensor.data_ptr()), static_cast<uint64_t>(tensor.numel()),
               size_of(*dtype));
  }
  return tensor;
}

}  // namespace farro::io
