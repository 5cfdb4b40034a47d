#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <support/temporary_folder.hpp>
#include <farro/backends/error.hpp>
#include <farro/io/image.hpp>
#include <farro/io/progress.hpp>
#include <farro/io/svg.hpp>
#include <farro/io/table.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("png: an image comes back pixel by pixel") {
  test::TemporaryFolder folder;
  io::Image image(7, 5, {1, 2, 3});
  image.set(0, 0, {255, 0, 0});
  image.set(6, 4, {0, 0, 255});
  image.set(7, 0, {9, 9, 9});  // outside
  image.set(0, -1, {9, 9, 9});
  io::write_png(folder / "x.png", image);

  png_image read{};
  read.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&read, (folder / "x.png").c_str()));
  CHECK(read.width == 7);
  CHECK(read.height == 5);
  read.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> bytes(PNG_IMAGE_SIZE(read));
  REQUIRE(png_image_finish_read(&read, nullptr, bytes.data(), 0, nullptr));
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 7; ++x) {
      io::Colour c = image.at(x, y);
      const uint8_t* p = bytes.data() + (y * 7 + x) * 3;
      CHECK((p[0] == c.red && p[1] == c.green && p[2] == c.blue));
    }
  }
  CHECK_THROWS_AS(io::write_png(folder / "none" / "x.png", image), FileError);
}

TEST_CASE("png: text and grey values are drawn where they were asked for") {
  io::Image image(20, 12);
  image.draw_text(2, 1, "i?", {9, 9, 9});
  CHECK(image.at(4, 3).red == 9);
  CHECK(image.at(2, 3).red == 0);
  std::vector<uint8_t> grey = {10, 20, 30, 40};
  image.draw_grey(14, 6, grey, 2, 2);
  CHECK(image.at(14, 6).green == 10);
  CHECK(image.at(15, 7).green == 10);
  CHECK(image.at(16, 6).green == 20);
  CHECK(image.at(17, 9).green == 40);
}

TEST_CASE("png: a contact sheet holds any number of pictures") {
  for (size_t n : {size_t{0}, size_t{1}, size_t{5}}) {
    std::vector<io::SheetEntry> entries(
        n, {std::vector<uint8_t>(28 * 28, 200), "a very long caption that is cut", "b"});
    io::Image sheet = io::contact_sheet("title", entries, 28, 4);
    CHECK(sheet.width() >= 4 * 28 * 3);
    CHECK(sheet.height() >= static_cast<int>((n + 3) / 4) * 28 * 3);
  }
}

TEST_CASE("svg: ticks are round and cover the range") {
  CHECK(io::round_ticks(0, 1, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(io::round_ticks(3, 97, 4) == std::vector<double>{0, 50, 100});
  CHECK(io::round_ticks(-1, 1, 2) == std::vector<double>{-1, 0, 1});
  for (double hi : {1e-9, 0.37, 12.0, 7e8}) {
    std::vector<double> ticks = io::round_ticks(hi / 3, hi, 6);
    CHECK(ticks.front() <= hi / 3 * 1.000001);
    CHECK(ticks.back() >= hi * 0.999999);
    CHECK(ticks.size() <= 16);
  }
}

TEST_CASE("svg: charts hold their texts, escaped, and no number that is not finite") {
  double nan = std::numeric_limits<double>::quiet_NaN();
  io::Chart chart{
      "a < b & c",
      "x",
      "y",
      {{"train", {1, 2, 3, 4}, {1, nan, 2, 3}, true}, {"empty", {}, {}}, {"one", {1}, {5}}}};
  std::string svg = io::line_charts({chart, {"second", "", "", {{"flat", {0, 1}, {0, 0}}}}, {}});
  CHECK_THAT(svg, ContainsSubstring("a &lt; b &amp; c") &&
                      ContainsSubstring("prefers-color-scheme: dark") &&
                      ContainsSubstring(">train<") && ContainsSubstring("</svg>"));
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("table: columns line up, in UTF-8 too") {
  io::Table table({"layer", "n"});
  table.add_row({"größe", "1"});
  table.add_rule();
  table.add_row({"sum", "1000"});
  CHECK(table.str() ==
        "layer     n\n"
        "-----  ----\n"
        "größe     1\n"
        "-----  ----\n"
        "sum    1000\n");
  CHECK_THROWS_AS(table.add_row({"a", "b", "c"}), ValueError);
}

TEST_CASE("progress: plain lines at each tenth where there is no terminal") {
  std::FILE* file = std::tmpfile();
  {
    io::Progress progress("epoch 1", 1000, "images", file);
    for (int64_t i = 1; i <= 1000; ++i) progress.update(i, "loss 0.5");
    progress.finish();
  }
  std::rewind(file);
  std::string text(10'000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  CHECK(std::count(text.begin(), text.end(), '\n') == 10);
  CHECK_THAT(text, ContainsSubstring("epoch 1  100%") && ContainsSubstring("images/s  loss 0.5"));
  CHECK(text.find('\r') == std::string::npos);
}
