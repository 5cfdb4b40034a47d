#include <farro/autograd/print.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/tensor.hpp>

namespace farro {

PrintOptions& print_options() {
  static PrintOptions options;
  return options;
}

namespace {

/// Which notation fits all values that are shown, and how wide it gets.
class Formatter {
 public:
  Formatter(DType dtype, const std::vector<double>& values, const std::vector<int64_t>& integers)
      : floating_(is_floating_point(dtype)), boolean_(dtype == kBool) {
    if (floating_) {
      choose(values);
    } else {
      for (int64_t value : integers) widen(bare(value));
    }
  }

  size_t width() const { return width_; }
  std::string operator()(int64_t value) const { return pad(bare(value)); }
  std::string operator()(double value) const {
    if (std::isnan(value)) return pad("nan");
    if (scientific_) return pad(fmt::format("{:.{}e}", value, options_.precision));
    std::string text = integral_ ? fmt::format("{:.0f}", value)
                                 : fmt::format("{:.{}f}", value, options_.precision);
    if (integral_ && std::isfinite(value)) text += ".";
    return pad(text);
  }

 private:
  std::string bare(int64_t value) const {
    return boolean_ ? (value ? "True" : "False") : fmt::format("{}", value);
  }
  std::string pad(const std::string& text) const { return fmt::format("{:>{}}", text, width_); }
  void widen(const std::string& text) { width_ = std::max(width_, text.size()); }

  /// Zeros, infinities and NaN have no say.
  void choose(const std::vector<double>& values) {
    std::vector<double> counted;
    for (double value : values) {
      if (std::isfinite(value) && value != 0) counted.push_back(value);
    }
    if (counted.empty()) return;
    double low = INFINITY, high = 0;
    for (double value : counted) {
      low = std::min(low, std::abs(value));
      high = std::max(high, std::abs(value));
      integral_ = integral_ && value == std::ceil(value);
    }
    scientific_ = options_.sci_mode.value_or(high / low > 1000.0 || high > 1.0e8 || low < 1.0e-4);
    for (double value : counted) {
      if (scientific_) {
        widen(fmt::format("{:.{}e}", value, options_.precision));
      } else if (integral_) {
        widen(fmt::format("{:.0f}.", value));
      } else {
        widen(fmt::format("{:.{}f}", value, options_.precision));
      }
    }
  }

  const PrintOptions& options_ = print_options();
  bool floating_, boolean_;
  bool integral_ = true, scientific_ = false;
  size_t width_ = 1;
};

/// Only the entries that are shown, on the host, and which dimensions were cut.
struct Shown {
  Dims sizes;
  bool cut[kMaxDims] = {};
  std::vector<double> values;
  std::vector<int64_t> integers;

  Shown(Tensor x, bool summarize) {
    NoGrad guard;
    int64_t edge = std::max<int64_t>(print_options().edgeitems, 1);
    x = x.detach();
    for (int d = 0; summarize && d < x.dim(); ++d) {
      if (x.sizes()[d] <= 2 * edge) continue;
      cut[d] = true;
      x = cat({narrow(x, d, 0, edge), narrow(x, d, x.sizes()[d] - edge, edge)}, d);
    }
    sizes = x.sizes();
    if (is_floating_point(x.dtype())) {
      values = x.to_vector();
    } else {
      Tensor host = to(contiguous(x), Device(), kInt64);
      integers.assign(host.data<int64_t>(), host.data<int64_t>() + host.numel());
    }
  }
};

class Writer {
 public:
  Writer(const Shown& shown, DType dtype)
      : shown_(shown), format_(dtype, shown.values, shown.integers) {}

  std::string text(int d, int64_t first, int indent) const {
    if (shown_.sizes.empty()) return element(0);
    if (d == shown_.sizes.size() - 1) return row(first, indent);
    int64_t size = shown_.sizes[d], step = 1;
    for (int i = d + 1; i < shown_.sizes.size(); ++i) step *= shown_.sizes[i];
    std::vector<std::string> parts;
    for (int64_t i = 0; i < size; ++i) {
      if (shown_.cut[d] && 2 * i == size) parts.push_back("...");
      parts.push_back(text(d + 1, first + i * step, indent + 1));
    }
    std::string breaks(static_cast<size_t>(shown_.sizes.size() - d - 1), '\n');
    return "[" +
           fmt::format(
               "{}",
               fmt::join(parts, "," + breaks + std::string(static_cast<size_t>(indent) + 1, ' '))) +
           "]";
  }

 private:
  std::string element(int64_t i) const {
    auto at = static_cast<size_t>(i);
    return shown_.integers.empty() ? format_(shown_.values[at]) : format_(shown_.integers[at]);
  }

  std::string row(int64_t first, int indent) const {
    int last = shown_.sizes.size() - 1;
    int64_t size = shown_.sizes[last];
    std::vector<std::string> data;
    for (int64_t i = 0; i < size; ++i) {
      if (shown_.cut[last] && 2 * i == size) data.push_back(" ...");
      data.push_back(element(first + i));
    }
    int per_line =
        std::max(1, (print_options().linewidth - indent) / static_cast<int>(format_.width() + 2));
    std::string result = "[";
    for (size_t i = 0; i < data.size(); ++i) {
      if (i > 0)
        result += i % static_cast<size_t>(per_line)
                      ? ", "
                      : ",\n" + std::string(static_cast<size_t>(indent) + 1, ' ');
      result += data[i];
    }
    return result + "]";
  }

  const Shown& shown_;
  Formatter format_;
};

/// Appends what follows the elements, on a new line where the last one has no room left.
std::string with_suffixes(std::string text, const std::vector<std::string>& suffixes,
                          size_t indent) {
  size_t newline = text.rfind('\n');
  auto last =
      static_cast<int>(newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1);
  for (const std::string& suffix : suffixes) {
    int length = static_cast<int>(suffix.size());
    if (last + length + 2 > print_options().linewidth) {
      text += ",\n" + std::string(indent, ' ') + suffix;
      last = static_cast<int>(indent) + length;
    } else {
      text += ", " + suffix;
      last += length + 2;
    }
  }
  return text + ")";
}

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "tensor(undefined)";
  if (impl_->uninitialized)
    return impl_->is_parameter ? "<UninitializedParameter>" : "<UninitializedBuffer>";
  std::string text = impl_->is_parameter ? "Parameter containing:\ntensor(" : "tensor(";
  constexpr int indent = 7;
  std::vector<std::string> suffixes;
  if (device() != Device()) suffixes.push_back(fmt::format("device='{}'", device().str()));
  bool usual = dtype() == default_dtype() || dtype() == kInt64 || dtype() == kBool;
  if (numel() == 0) {
    text += "[]";
    if (dim() != 1)
      suffixes.push_back(fmt::format("size=({})", fmt::join(sizes().begin(), sizes().end(), ", ")));
    if (dtype() != default_dtype()) suffixes.push_back(fmt::format("dtype={}", name_of(dtype())));
  } else {
    if (!usual) suffixes.push_back(fmt::format("dtype={}", name_of(dtype())));
    Shown shown(*this, numel() > print_options().threshold);
    text += Writer(shown, dtype()).text(0, 0, indent);
  }
  if (grad_fn()) {
    suffixes.push_back(fmt::format("grad_fn=<{}>", grad_fn()->name()));
  } else if (requires_grad()) {
    suffixes.push_back("requires_grad=True");
  }
  return with_suffixes(std::move(text), suffixes, indent);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.str(); }

}  // namespace farro
