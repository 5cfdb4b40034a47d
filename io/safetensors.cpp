#include <farro/io/safetensors.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>

#include <farro/io/atomic_file.hpp>

namespace farro::io {

static_assert(std::endian::native == std::endian::little,
              "safetensors holds little-endian numbers");

namespace {

constexpr uint64_t kLengthBytes = 8;

template <class... Args>
[[noreturn]] void bad(const std::string& source, fmt::format_string<Args...> text, Args&&... args) {
  fail<FileError>("load_safetensors", "{}: {}", source,
                  fmt::format(text, std::forward<Args>(args)...));
}

/// `read(offset, to, bytes)` gives the bytes of a file of `size` bytes called `source`.
template <class Read>
SafetensorsHeader read_header(uint64_t size, const std::string& source, const Read& read,
                              uint64_t& data_begin) {
  if (size < kLengthBytes) bad(source, "expected at least {} bytes, got {}", kLengthBytes, size);
  uint64_t length = 0;
  read(uint64_t{0}, &length, kLengthBytes);
  uint64_t limit = std::min(kMaxSafetensorsHeader, size - kLengthBytes);
  if (length > limit)
    bad(source, "expected a header of at most {} bytes, got one of {}", limit, length);
  std::string json(length, '\0');
  read(kLengthBytes, json.data(), length);
  data_begin = kLengthBytes + length;
  return parse_safetensors_header(json, size - data_begin, source);
}

template <class Read>
Tensor read_tensor(const SafetensorsEntry& entry, uint64_t data_begin, const std::string& source,
                   const Read& read, Device device) {
  Tensor tensor = empty(entry.sizes, entry.dtype, device.is_host() ? device : Device());
  uint64_t bytes = entry.end - entry.begin;
  if (bytes > 0) read(data_begin + entry.begin, tensor.data_ptr(), bytes);
  if (entry.dtype == kBool) {
    // Any other byte in a bool is undefined behaviour.
    std::span values(static_cast<const unsigned char*>(tensor.data_ptr()), bytes);
    auto wrong = std::find_if(values.begin(), values.end(), [](unsigned char v) { return v > 1; });
    if (wrong != values.end())
      bad(source, "expected 0 or 1 in {}, got {}", shown_name(entry.name), *wrong);
  }
  return device.is_host() ? tensor : tensor.to(device);
}

SafetensorsHeader plan(std::span<const TensorMap::Entry> entries, const Metadata& metadata,
                       std::vector<size_t>& order) {
  SafetensorsHeader header;
  header.metadata = metadata;
  for (const auto& [name, tensor] : entries) {
    if (!tensor.defined()) {
      fail<ValueError>("save_safetensors", "expected a tensor for {}, got an undefined one",
                       shown_name(name));
    }
    if (name == "__metadata__")
      fail<ValueError>("save_safetensors", "expected another name than '__metadata__'");
    header.entries.push_back({name, tensor.dtype(), tensor.sizes(), 0, 0});
  }
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    fail<ValueError>("save_safetensors", "expected each name once, got {} twice",
                     shown_name(*twice));
  }
  // Wide elements first, so that all are aligned; the header keeps the order of the entries.
  order.resize(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return size_of(header.entries[a].dtype) > size_of(header.entries[b].dtype);
  });
  uint64_t at = 0;
  for (size_t i : order) {
    SafetensorsEntry& e = header.entries[i];
    e.begin = at;
    at += static_cast<uint64_t>(e.sizes.product()) * size_of(e.dtype);
    e.end = at;
  }
  return header;
}

}  // namespace

namespace detail {

void save_safetensors(std::span<const TensorMap::Entry> entries, const std::filesystem::path& path,
                      const Metadata& metadata) {
  NoGrad guard;
  std::vector<size_t> order;
  SafetensorsHeader header = plan(entries, metadata, order);
  std::string json = format_safetensors_header(header);
  uint64_t length = json.size();
  if (length > kMaxSafetensorsHeader) {
    fail<ValueError>("save_safetensors", "expected names and metadata of at most {} bytes, got {}",
                     kMaxSafetensorsHeader, length);
  }
  AtomicFile file(path, "save_safetensors");
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(json);
  for (size_t i : order) {
    Tensor tensor = entries[i].second.detach();
    if (!tensor.device().is_host()) tensor = tensor.to(Device());
    tensor = tensor.contiguous();
    uint64_t bytes = header.entries[i].end - header.entries[i].begin;
    if (bytes > 0) file.write({static_cast<const std::byte*>(tensor.data_ptr()), bytes});
  }
  file.commit();
}

}  // namespace detail

struct SafetensorsFile::Source {
  std::string name;
  int descriptor = -1;
  uint64_t size = 0;
  uint64_t data_begin = 0;

  explicit Source(const std::filesystem::path& path) : name(path.string()) {
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
      fail<FileError>("load_safetensors", "{}: opening failed: {}", name, std::strerror(errno));
    struct stat about {};
    bool regular = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
    if (!regular) {
      ::close(descriptor);
      bad(name, "expected a regular file, got {}",
          S_ISDIR(about.st_mode) ? "a folder" : "something else");
    }
    size = static_cast<uint64_t>(about.st_size);
  }
  ~Source() { ::close(descriptor); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void operator()(uint64_t offset, void* to, uint64_t bytes) const {
    char* at = static_cast<char*>(to);
    while (bytes > 0) {
      ssize_t got = ::pread(descriptor, at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        fail<FileError>("load_safetensors", "{}: reading failed: {}", name, std::strerror(errno));
      if (got == 0)
        bad(name, "expected {} bytes, got {} (the file shrank while it was read)", size, offset);
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<uint64_t>(got);
    }
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : source_(std::make_unique<Source>(path)) {
  header_ = read_header(source_->size, source_->name, *source_, source_->data_begin);
}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;

Tensor SafetensorsFile::load(std::string_view name, Device device) const {
  for (const SafetensorsEntry& e : entries()) {
    if (e.name == name) return read_tensor(e, source_->data_begin, source_->name, *source_, device);
  }
  fail<KeyError>("load_safetensors", "{}: expected a tensor {}, got {} others", source_->name,
                 shown_name(name), entries().size());
}

TensorMap SafetensorsFile::load_all(Device device) const {
  TensorMap map;
  map.metadata = metadata();
  for (const SafetensorsEntry& e : entries()) {
    map.append(e.name, read_tensor(e, source_->data_begin, source_->name, *source_, device));
  }
  return map;
}

TensorMap load_safetensors(const std::filesystem::path& path, Device device) {
  return SafetensorsFile(path).load_all(device);
}

TensorMap load_safetensors(std::span<const std::byte> bytes, Device device) {
  const std::string source = "memory";
  auto read = [&](uint64_t offset, void* to, uint64_t count) {
    std::memcpy(to, bytes.data() + offset, count);
  };
  uint64_t data_begin = 0;
  SafetensorsHeader header = read_header(bytes.size(), source, read, data_begin);
  TensorMap map;
  map.metadata = header.metadata;
  for (const SafetensorsEntry& e : header.entries) {
    map.append(e.name, read_tensor(e, data_begin, source, read, device));
  }
  return map;
}

TensorMap load(const std::filesystem::path& path, Device device) {
  return load_safetensors(path, device);
}

}  // namespace farro::io
