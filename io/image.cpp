#include <farro/io/image.hpp>

#include <png.h>

#include <algorithm>
#include <array>
#include <cctype>

#include <farro/backends/error.hpp>
#include <farro/io/atomic_file.hpp>

namespace farro::io {
namespace {

/// Seven rows of five pixels, the leftmost the highest bit.
struct Glyph {
  char character;
  std::array<uint8_t, 7> rows;
};

constexpr Glyph kGlyphs[] = {
    {'A', {0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001}},
    {'B', {0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110}},
    {'C', {0b01110, 0b10001, 0b10000, 0b10000, 0b10000, 0b10001, 0b01110}},
    {'D', {0b11100, 0b10010, 0b10001, 0b10001, 0b10001, 0b10010, 0b11100}},
    {'E', {0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111}},
    {'F', {0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000}},
    {'G', {0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01111}},
    {'H', {0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001}},
    {'I', {0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110}},
    {'J', {0b00111, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100}},
    {'K', {0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001}},
    {'L', {0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111}},
    {'M', {0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001}},
    {'N', {0b10001, 0b11001, 0b11001, 0b10101, 0b10011, 0b10011, 0b10001}},
    {'O', {0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110}},
    {'P', {0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000}},
    {'Q', {0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101}},
    {'R', {0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001}},
    {'S', {0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110}},
    {'T', {0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100}},
    {'U', {0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110}},
    {'V', {0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b01010, 0b00100}},
    {'W', {0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b10101, 0b01010}},
    {'X', {0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001}},
    {'Y', {0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100}},
    {'Z', {0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111}},
    {'0', {0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110}},
    {'1', {0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110}},
    {'2', {0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111}},
    {'3', {0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110}},
    {'4', {0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010}},
    {'5', {0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110}},
    {'6', {0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110}},
    {'7', {0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000}},
    {'8', {0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110}},
    {'9', {0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100}},
    {'-', {0b00000, 0b00000, 0b00000, 0b11111, 0b00000, 0b00000, 0b00000}},
    {'/', {0b00001, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b10000}},
    {'.', {0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b01100, 0b01100}},
    {',', {0b00000, 0b00000, 0b00000, 0b00000, 0b00110, 0b00100, 0b01000}},
    {':', {0b00000, 0b01100, 0b01100, 0b00000, 0b01100, 0b01100, 0b00000}},
    {'%', {0b11000, 0b11001, 0b00010, 0b00100, 0b01000, 0b10011, 0b00011}},
    {'>', {0b01000, 0b00100, 0b00010, 0b00001, 0b00010, 0b00100, 0b01000}},
    {'(', {0b00010, 0b00100, 0b01000, 0b01000, 0b01000, 0b00100, 0b00010}},
    {')', {0b01000, 0b00100, 0b00010, 0b00010, 0b00010, 0b00100, 0b01000}},
};

const Glyph* glyph_of(char c) {
  char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const Glyph& glyph : kGlyphs) {
    if (glyph.character == upper) return &glyph;
  }
  return nullptr;
}

}  // namespace

Image::Image(int width, int height, Colour background)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height), background) {}

void Image::set(int x, int y, Colour colour) {
  if (x >= 0 && x < width_ && y >= 0 && y < height_) pixels_[index(x, y)] = colour;
}

void Image::draw_grey(int x, int y, std::span<const uint8_t> values, int width, int scale) {
  int height = static_cast<int>(values.size()) / width;
  for (int row = 0; row < height * scale; ++row) {
    for (int column = 0; column < width * scale; ++column) {
      uint8_t v = values[static_cast<size_t>(row / scale * width + column / scale)];
      set(x + column, y + row, {v, v, v});
    }
  }
}

void Image::draw_text(int x, int y, std::string_view text, Colour colour) {
  for (char c : text) {
    if (const Glyph* glyph = glyph_of(c)) {
      for (int row = 0; row < 7; ++row) {
        for (int column = 0; column < 5; ++column) {
          if (glyph->rows[static_cast<size_t>(row)] >> (4 - column) & 1)
            set(x + column, y + row, colour);
        }
      }
    }
    x += 6;
  }
}

Image contact_sheet(std::string_view title, std::span<const SheetEntry> entries, int width,
                    int columns, int scale) {
  constexpr int kGap = 8, kLine = Image::kTextHeight + 3;
  constexpr Colour kPaper{24, 24, 27}, kText{212, 212, 216}, kWarning{248, 113, 113};
  int count = static_cast<int>(entries.size());
  int height = count ? static_cast<int>(entries[0].grey.size()) / width : 0;
  int cell_width = width * scale + kGap, cell_height = height * scale + 2 * kLine + kGap;
  int rows = (count + columns - 1) / columns, top = kGap + 2 * kLine;
  Image image(std::max(columns * cell_width, Image::text_width(title.size()) + kGap) + kGap,
              top + std::max(rows * cell_height, 1), kPaper);
  image.draw_text(kGap, kGap, title, kText);
  size_t most = static_cast<size_t>(width * scale + 1) / 6;
  for (int i = 0; i < count; ++i) {
    const SheetEntry& entry = entries[static_cast<size_t>(i)];
    int x = kGap + i % columns * cell_width, y = top + i / columns * cell_height;
    image.draw_grey(x, y, entry.grey, width, scale);
    image.draw_text(x, y + height * scale + 3, entry.first.substr(0, most), kText);
    image.draw_text(x, y + height * scale + 3 + kLine, entry.second.substr(0, most), kWarning);
  }
  return image;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width());
  header.height = static_cast<png_uint_32>(image.height());
  header.format = PNG_FORMAT_RGB;
  static_assert(sizeof(Colour) == 3);
  png_alloc_size_t bytes = 0;
  std::string encoded;
  // The first call only asks for the size.
  bool done = png_image_write_to_memory(&header, nullptr, &bytes, 0, image.pixels().data(), 0,
                                        nullptr) != 0;
  if (done) {
    encoded.resize(bytes);
    done = png_image_write_to_memory(&header, encoded.data(), &bytes, 0, image.pixels().data(), 0,
                                     nullptr) != 0;
  }
  if (!done) fail<FileError>("write_png", "{}: encoding failed: {}", path.string(), header.message);
  encoded.resize(bytes);
  write_file(path, encoded, "write_png");
}

}  // namespace farro::io
