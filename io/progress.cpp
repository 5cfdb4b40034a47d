#include <farro/io/progress.hpp>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <farro/io/table.hpp>

namespace farro::io {
namespace {

int terminal_columns(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string clock_time(double seconds) {
  auto s = static_cast<int64_t>(seconds + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// ▏ to █: how much of a character is full.
std::string bar(double fraction, int width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  auto eighths = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * width * 8);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  int used = eighths / 8 + (eighths % 8 != 0);
  return text + std::string(static_cast<size_t>(width - used), ' ');
}

}  // namespace

Progress::Progress(std::string title, int64_t total, std::string unit, std::FILE* out)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(std::max<int64_t>(total, 1)),
      out_(out),
      terminal_(::isatty(::fileno(out)) != 0) {}

Progress::~Progress() {
  if (!finished_ && terminal_ && drawn_ != Clock::time_point{}) std::fputc('\n', out_);
}

void Progress::start_at(int64_t done) {
  first_ = done_ = done;
  tenths_ = static_cast<int>(done * 10 / total_);
  start_ = Clock::now();
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}
double Progress::speed() const {
  return static_cast<double>(done_ - first_) / std::max(seconds(), 1e-9);
}

void Progress::update(int64_t done, std::string_view note) {
  done_ = done;
  if (terminal_) {
    auto now = Clock::now();
    if (now - drawn_ < std::chrono::milliseconds(100) && done < total_) {
      return;
    }
    drawn_ = now;
    note_ = note;
    draw(note);
    return;
  }
  int tenths = static_cast<int>(done * 10 / total_);
  if (tenths <= tenths_) return;
  tenths_ = tenths;
  fmt::print(out_, "{}  {:3}%  {:.0f} {}/s  {}\n", title_, done * 100 / total_, speed(), unit_,
             note);
  std::fflush(out_);
}

std::string Progress::line(std::string_view note, int columns) const {
  double fraction = static_cast<double>(done_) / static_cast<double>(total_);
  double rate = speed();
  double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0;
  std::string tail = fmt::format(
      " {:3.0f}%  {:.0f} {}/s  {}  {}", fraction * 100, rate, unit_,
      done_ < total_ ? clock_time(left) + " left" : "in " + clock_time(seconds()), note);
  int room = columns - 1 - static_cast<int>(display_width(title_) + display_width(tail)) - 3;
  if (room < 4)
    return fmt::format("{}{}", title_, tail)
        .substr(0, static_cast<size_t>(std::max(columns - 1, 1)));
  return fmt::format("{} │{}│{}", title_, bar(fraction, std::min(room, 40)), tail);
}

void Progress::draw(std::string_view note) {
  fmt::print(out_, "\r{}\x1b[K", line(note, terminal_columns(out_)));
  std::fflush(out_);
}

void Progress::finish() {
  if (std::exchange(finished_, true) || !terminal_) return;
  draw(note_);
  std::fputc('\n', out_);
}

}  // namespace farro::io
