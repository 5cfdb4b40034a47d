#include <farro/examples/diffusion/heatmaps.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <farro/io/image.hpp>

namespace example {
namespace {

using farro::io::Colour;
using farro::io::Image;

constexpr int kMargin = 16, kBar = 10, kWanted = 240;  // pixels
constexpr Colour kPaper{255, 255, 255}, kInk{39, 39, 42};

/// From dark violet over blue, green and yellow to white, lighter all the way; 0 to 1.
Colour colour_of(double value) {
  constexpr std::array<std::array<double, 3>, 6> stops{{{30, 10, 60},
                                                        {45, 60, 140},
                                                        {20, 125, 150},
                                                        {70, 180, 110},
                                                        {235, 205, 70},
                                                        {255, 250, 225}}};
  double at = std::clamp(value, 0.0, 1.0) * (stops.size() - 1);
  auto below = std::min(static_cast<size_t>(at), stops.size() - 2);
  auto mixed = [&](size_t channel) {
    double a = stops[below][channel], b = stops[below + 1][channel];
    return static_cast<uint8_t>(std::lround(a + (b - a) * (at - static_cast<double>(below))));
  };
  return {mixed(0), mixed(1), mixed(2)};
}

void draw_field(Image& image, int left, int top, int scale, const Heatmap& map) {
  std::vector<double> values = map.field.to_vector();
  int rows = static_cast<int>(map.field.size(0)), columns = static_cast<int>(map.field.size(1));
  for (int y = 0; y < rows * scale; ++y) {
    for (int x = 0; x < columns * scale; ++x) {
      double value = values[static_cast<size_t>(y / scale * columns + x / scale)];
      double place = (value - map.lowest) / (map.highest - map.lowest);
      image.set(left + x, top + y, std::isfinite(value) ? colour_of(place) : kInk);
    }
  }
}

void draw_scale(Image& image, int left, int top, int width, const Heatmap& map) {
  for (int x = 0; x < width; ++x) {
    for (int y = 0; y < kBar; ++y) image.set(left + x, top + y, colour_of((x + 0.5) / width));
  }
  std::string lowest = fmt::format("{:.3g}", map.lowest),
              highest = fmt::format("{:.3g}", map.highest);
  image.draw_text(left, top + kBar + 5, lowest, kInk);
  image.draw_text(left + width - Image::text_width(highest.size()), top + kBar + 5, highest, kInk);
}

}  // namespace

void write_heatmaps(const std::filesystem::path& file, const std::vector<Heatmap>& maps) {
  int columns = static_cast<int>(maps.at(0).field.size(1)),
      rows = static_cast<int>(maps[0].field.size(0));
  int scale = std::max(1, kWanted / std::max(columns, rows)), width = columns * scale,
      height = rows * scale;
  int count = static_cast<int>(maps.size()), below = kMargin / 2 + kBar + 5 + Image::kTextHeight;
  int top = kMargin + Image::kTextHeight + kMargin / 2;
  Image image(kMargin + count * (width + kMargin), top + height + below + kMargin, kPaper);
  for (int i = 0; i < count; ++i) {
    const Heatmap& map = maps[static_cast<size_t>(i)];
    int left = kMargin + i * (width + kMargin);
    image.draw_text(left, kMargin, map.title, kInk);
    draw_field(image, left, top, scale, map);
    draw_scale(image, left, top + height + kMargin / 2, width, map);
  }
  farro::io::write_png(file, image);
}

}  // namespace example
