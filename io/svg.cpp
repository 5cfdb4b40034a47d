#include <farro/io/svg.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <farro/backends/xml.hpp>
#include <farro/io/atomic_file.hpp>

namespace farro::io {
namespace {

constexpr int kLeft = 64, kRight = 24, kTop = 56, kBottom = 52;
constexpr int kColours = 6;

/// Okabe and Ito's colours, which most colour-blind readers can tell apart, made lighter on dark
/// displays.
constexpr const char* kStyle = R"(<style>
  svg { --paper: #ffffff; --ink: #27272a; --faint: #e4e4e7; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a8518a; --c4: #b8860b; --c5: #56788f; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #18181b; --ink: #d4d4d8; --faint: #3f3f46; --c0: #56b4e9; --c1: #ff8c42; --c2: #3ecf9f; --c3: #e08fc4; --c4: #f0c040; --c5: #a5c3d6; }
  }
  text { font: 12px system-ui, sans-serif; fill: #27272a; fill: var(--ink); }
  .title { font-size: 14px; font-weight: 600; }
  .paper { fill: #ffffff; fill: var(--paper); }
  .grid { stroke: #e4e4e7; stroke: var(--faint); }
  .axis { stroke: #27272a; stroke: var(--ink); fill: none; }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
</style>
)";
constexpr const char* kPlain[kColours] = {"#0072b2", "#d55e00", "#009e73",
                                          "#a8518a", "#b8860b", "#56788f"};

struct Range {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -std::numeric_limits<double>::infinity();
  void add(double v) {
    if (!std::isfinite(v)) return;
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
  /// Never empty, so that it can be divided by.
  void widen() {
    if (lo > hi) lo = 0, hi = 1;
    if (hi - lo <= 1e-12 * std::max(std::abs(lo), std::abs(hi))) {
      double by = lo == 0 ? 1 : std::abs(lo) * 0.1;
      lo -= by;
      hi += by;
    }
  }
};

class Panel {
 public:
  Panel(const Chart& chart, int index, int top, int width, int height)
      : chart_(chart),
        clip_(fmt::format("clip{}", index)),
        top_(top),
        width_(width),
        height_(height) {
    for (double x : chart.x_covers) x_.add(x);
    for (const Series& s : chart.series) {
      for (double x : s.x) x_.add(x);
      for (double y : s.y) y_.add(y);
    }
    x_.widen();
    y_.widen();
    x_ticks_ = round_ticks(x_.lo, x_.hi, width / 90);
    y_ticks_ = round_ticks(y_.lo, y_.hi, height / 50);
    y_.lo = std::min(y_.lo, y_ticks_.front());
    y_.hi = std::max(y_.hi, y_ticks_.back());
  }

  void draw(std::string& out) const {
    out += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", kLeft, top_ + 22,
                       escape_xml(chart_.title));
    draw_axes(out);
    out += fmt::format(
        "<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        clip_, left() - 4, top() - 4, right() - left() + 8, bottom() - top() + 8);
    out += fmt::format("<g clip-path=\"url(#{})\">\n", clip_);
    for (size_t i = 0; i < chart_.series.size(); ++i)
      draw_series(out, chart_.series[i], i % kColours);
    out += "</g>\n";
    draw_legend(out);
  }

 private:
  double left() const { return kLeft; }
  double right() const { return width_ - kRight; }
  double top() const { return top_ + kTop; }
  double bottom() const { return top_ + height_ - kBottom; }
  double px(double x) const { return left() + (x - x_.lo) / (x_.hi - x_.lo) * (right() - left()); }
  double py(double y) const {
    return bottom() - (y - y_.lo) / (y_.hi - y_.lo) * (bottom() - top());
  }
  static std::string stroke(size_t colour) {
    return fmt::format("stroke=\"{0}\" style=\"stroke: var(--c{1}, {0})\"", kPlain[colour], colour);
  }

  void draw_axes(std::string& out) const {
    for (double y : y_ticks_) {
      out += fmt::format(
          "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.6g}</text>\n",
          left(), right(), py(y), py(y), left() - 8, py(y) + 4, y);
    }
    for (double x : x_ticks_) {
      if (x < x_.lo || x > x_.hi) continue;
      out += fmt::format(
          "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
          "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4:.6g}</text>\n",
          px(x), bottom(), bottom() + 5, bottom() + 19, x);
    }
    out += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left(), top(),
                       bottom(), right());
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       (left() + right()) / 2, bottom() + 38, escape_xml(chart_.x_label));
    out += fmt::format(
        "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        (top() + bottom()) / 2, escape_xml(chart_.y_label));
  }

  void draw_series(std::string& out, const Series& s, size_t colour) const {
    std::string path;
    bool pen_down = false;
    size_t n = std::min(s.x.size(), s.y.size());
    for (size_t i = 0; i < n; ++i) {
      bool finite = std::isfinite(s.x[i]) && std::isfinite(s.y[i]);
      if (finite)
        path += fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', px(s.x[i]), py(s.y[i]));
      pen_down = finite;
    }
    if (!path.empty())
      out += fmt::format("<path class=\"line\" {} d=\"{}\"/>\n", stroke(colour), path);
    if (!s.markers) return;
    for (size_t i = 0; i < n; ++i) {
      if (!std::isfinite(s.x[i]) || !std::isfinite(s.y[i])) continue;
      out += fmt::format(
          "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"3\" fill=\"{2}\" style=\"fill: var(--c{3}, "
          "{2})\">"
          "<title>{4}: {5:.6g}</title></circle>\n",
          px(s.x[i]), py(s.y[i]), kPlain[colour], colour, escape_xml(s.name), s.y[i]);
    }
  }

  void draw_legend(std::string& out) const {
    double x = kLeft;
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const std::string& name = chart_.series[i].name;
      out += fmt::format(
          "<line class=\"line\" {0} x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{3}\" y2=\"{3}\"/>"
          "<text x=\"{4:.1f}\" y=\"{5}\">{6}</text>\n",
          stroke(i % kColours), x, x + 18, top_ + 38, x + 24, top_ + 42, escape_xml(name));
      x += 44 + 7.0 * static_cast<double>(name.size());
    }
  }

  const Chart& chart_;
  std::string clip_;
  int top_, width_, height_;
  Range x_, y_;
  std::vector<double> x_ticks_, y_ticks_;
};

}  // namespace

std::vector<double> round_ticks(double lo, double hi, int wanted) {
  double rough = (hi - lo) / std::max(wanted, 1);
  double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (double factor : {1., 2., 5.}) {
    if (factor * power >= rough * 0.999999) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  double first = std::floor(lo / step + 1e-9), last = std::ceil(hi / step - 1e-9);
  for (double k = first; k <= last; ++k) ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}

std::string line_charts(const std::vector<Chart>& charts, int width, int height_of_each) {
  int height = height_of_each * static_cast<int>(charts.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n",
      width, height);
  out += kStyle;
  out += "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
  int index = 0;
  for (const Chart& chart : charts) {
    Panel(chart, index, index * height_of_each, width, height_of_each).draw(out);
    ++index;
  }
  return out + "</svg>\n";
}

void write_line_charts(const std::filesystem::path& path, const std::vector<Chart>& charts) {
  write_file(path, line_charts(charts), "write_line_charts");
}

}  // namespace farro::io
