#include <support/compare.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include <farro/backends/memory.hpp>
#include <farro/backends/random.hpp>

namespace farro::test {
namespace {

/// Calls f with the offset, in elements, of each element in row-major order.
template <class F>
void for_each_offset(const Dims& sizes, const Dims& strides, F f) {
  int64_t count = sizes.product();
  Dims index(sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(offset);
    for (int d = sizes.size() - 1; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= index[d] * strides[d];
      index[d] = 0;
    }
  }
}

Tensor on_host(const Tensor& tensor) {
  return tensor.device().is_host() ? tensor : tensor.detach().to(Device());
}

bool is_nan(const std::byte* element, DType dtype) {
  switch (dtype) {
    case DType::Float32: {
      float value;
      std::memcpy(&value, element, sizeof value);
      return std::isnan(value);
    }
    case DType::Float64: {
      double value;
      std::memcpy(&value, element, sizeof value);
      return std::isnan(value);
    }
    case DType::BFloat16: {
      BFloat16 value;
      std::memcpy(&value, element, sizeof value);
      return std::isnan(static_cast<float>(value));
    }
    case DType::Float16: {
      Float16 value;
      std::memcpy(&value, element, sizeof value);
      return std::isnan(static_cast<float>(value));
    }
    default:
      return false;
  }
}

std::string index_text(int64_t flat, const Dims& sizes) {
  Dims index = sizes;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return to_string(index);
}

std::string kind(const Tensor& t) {
  return fmt::format("{} {}", name_of(t.dtype()), to_string(t.sizes()));
}

}  // namespace

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  Tensor host = on_host(tensor);
  size_t size = size_of(host.dtype());
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(host.numel()) * size);
  const auto* data = static_cast<const std::byte*>(host.data_ptr());
  for_each_offset(host.sizes(), host.strides(), [&](int64_t offset) {
    const std::byte* element = data + offset * static_cast<int64_t>(size);
    bytes.insert(bytes.end(), element, element + size);
  });
  return bytes;
}

std::string difference(const Tensor& actual, const Tensor& expected, Tolerance tolerance) {
  if (!actual.defined() || !expected.defined()) {
    if (actual.defined() == expected.defined()) return "";
    return fmt::format("expected {}, got {}", expected.defined() ? kind(expected) : "nothing",
                       actual.defined() ? kind(actual) : "nothing");
  }
  if (actual.sizes() != expected.sizes() || actual.dtype() != expected.dtype()) {
    return fmt::format("expected {}, got {}", kind(expected), kind(actual));
  }
  std::vector<double> a = actual.to_vector(), e = expected.to_vector();
  double worst = 0;
  int64_t worst_at = -1, wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    double error = std::abs(a[i] - e[i]);
    double excess = error / (tolerance.atol + tolerance.rtol * std::abs(e[i]));
    if (excess <= 1) continue;
    ++wrong;
    if (worst_at < 0 || !(excess <= worst)) {
      worst = std::isnan(excess) ? HUGE_VAL : excess;
      worst_at = static_cast<int64_t>(i);
    }
  }
  if (worst_at < 0) return "";
  auto at = static_cast<size_t>(worst_at);
  return fmt::format("{} of {} elements of {} differ, most at {}: expected {:.17g}, got {:.17g}",
                     wrong, a.size(), kind(expected), index_text(worst_at, expected.sizes()), e[at],
                     a[at]);
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  std::vector<std::byte> x = bytes_of(a), y = bytes_of(b);
  size_t size = size_of(a.dtype());
  for (size_t i = 0; i < x.size(); i += size) {
    if (std::memcmp(&x[i], &y[i], size) != 0 &&
        !(is_nan(&x[i], a.dtype()) && is_nan(&y[i], a.dtype())))
      return false;
  }
  return true;
}

uint64_t hash(const Tensor& tensor) {
  uint64_t h = 0xcbf29ce484222325u;  // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
  auto add = [&](uint64_t byte) { h = (h ^ byte) * 0x100000001b3u; };
  if (!tensor.defined()) return h;
  add(static_cast<uint64_t>(tensor.dtype()));
  for (int64_t size : tensor.sizes()) add(static_cast<uint64_t>(size));
  size_t size = size_of(tensor.dtype());
  std::vector<std::byte> bytes = bytes_of(tensor);
  for (size_t i = 0; i < bytes.size(); i += size) {
    bool nan = is_nan(&bytes[i], tensor.dtype());
    for (size_t k = 0; k < size; ++k) add(nan ? 0xff : std::to_integer<uint64_t>(bytes[i + k]));
  }
  return h;
}

Tensor from_values(const std::vector<double>& values, const Dims& sizes, TensorOptions options) {
  if (static_cast<int64_t>(values.size()) != sizes.product()) {
    fail<ShapeError>("from_values", "expected {} values, got {}", sizes.product(), values.size());
  }
  Tensor host = empty(sizes, kFloat64, Device());
  if (!values.empty()) std::memcpy(host.data_ptr(), values.data(), values.size() * sizeof(double));
  NoGrad guard;
  Tensor result = host.to(options.device.value_or(Device()), options.dtype.value_or(kFloat64));
  if (options.requires_grad) result.requires_grad_();
  return result;
}

Tensor from_values(const std::vector<double>& values, TensorOptions options) {
  return from_values(values, Dims{static_cast<int64_t>(values.size())}, options);
}

Tensor random(const Dims& sizes, TensorOptions options, uint64_t seed, double lo, double hi) {
  std::vector<double> values(static_cast<size_t>(sizes.product()));
  Philox philox{seed, 0x7e57};
  for (size_t i = 0; i < values.size(); ++i) {
    Philox::Words words = philox(i);
    uint64_t bits = (uint64_t{words.v[0]} << 32 | words.v[1]) >> 11;
    values[i] = lo + (hi - lo) * (static_cast<double>(bits) * 0x1p-53);
  }
  return from_values(values, sizes, options);
}

Tensor with_strides(const Tensor& values, const Dims& strides) {
  Tensor host = on_host(values);
  const Dims& sizes = host.sizes();
  int64_t extent = 1;
  for (int d = 0; d < sizes.size(); ++d) extent += (sizes[d] - 1) * strides[d];
  if (host.numel() == 0) extent = 0;
  Tensor memory = empty({extent}, host.dtype(), host.device());
  Tensor result = alias(memory, sizes, strides, memory.data_ptr());
  std::vector<std::byte> bytes = bytes_of(host);
  size_t size = size_of(host.dtype()), from = 0;
  if (extent > 0) std::memset(memory.data_ptr(), 0, static_cast<size_t>(extent) * size);
  auto* data = static_cast<std::byte*>(memory.data_ptr());
  for_each_offset(sizes, strides, [&](int64_t offset) {
    std::memcpy(data + offset * static_cast<int64_t>(size), &bytes[from], size);
    from += size;
  });
  NoGrad guard;
  if (!values.device().is_host()) result = result.to(values.device());
  if (values.requires_grad()) result.requires_grad_();
  return result;
}

}  // namespace farro::test
