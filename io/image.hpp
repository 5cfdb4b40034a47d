#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace farro::io {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

/// An image of 8-bit red, green and blue, row by row.
class Image {
 public:
  Image(int width, int height, Colour background = {});

  int width() const { return width_; }
  int height() const { return height_; }
  Colour at(int x, int y) const { return pixels_[index(x, y)]; }
  /// What lies outside is cut off.
  void set(int x, int y, Colour colour);
  /// Draws grey values, `scale` times as large.
  void draw_grey(int x, int y, std::span<const uint8_t> values, int width, int scale);
  /// Writes in capitals, 5 x 7 pixels each with one between them; characters it lacks are left
  /// blank.
  void draw_text(int x, int y, std::string_view text, Colour colour);
  /// The pixels that draw_text needs for so many characters.
  static int text_width(size_t characters) { return static_cast<int>(characters) * 6 - 1; }
  static constexpr int kTextHeight = 7;

  const std::vector<Colour>& pixels() const { return pixels_; }

 private:
  size_t index(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
  }
  int width_, height_;
  std::vector<Colour> pixels_;
};

/// A picture of a contact sheet, with two lines of text below it.
struct SheetEntry {
  std::vector<uint8_t> grey;  ///< row by row
  std::string first;          ///< in grey
  std::string second;         ///< in red
};

/// Pictures of `width` columns side by side in rows of `columns`, under a title. Texts too long for
/// a cell are cut.
Image contact_sheet(std::string_view title, std::span<const SheetEntry> entries, int width,
                    int columns, int scale = 3);

/// Writes a PNG file, atomically. FileError, saying what to do, when that fails.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace farro::io
