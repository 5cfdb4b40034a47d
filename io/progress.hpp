#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace farro::io {

/// Shows how far a job is: on a terminal a bar that is drawn over and over, elsewhere a plain line
/// at each tenth.
class Progress {
 public:
  /// `title` stands before the bar, `unit` behind the speed ("images").
  Progress(std::string title, int64_t total, std::string unit, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is done already and shall not count for the speed (a resumed epoch).
  void start_at(int64_t done);
  /// `note` stands at the end, e.g. the loss.
  void update(int64_t done, std::string_view note = {});
  /// Leaves the last state on the screen and ends its line.
  void finish();
  double seconds() const;
  /// Units in a second since the start.
  double speed() const;

 private:
  void draw(std::string_view note);
  std::string line(std::string_view note, int columns) const;

  using Clock = std::chrono::steady_clock;
  std::string title_, unit_, note_;
  int64_t total_, done_ = 0, first_ = 0;
  std::FILE* out_;
  bool terminal_;
  bool finished_ = false;
  int tenths_ = 0;  // of which a plain line told
  Clock::time_point start_ = Clock::now(), drawn_{};
};

}  // namespace farro::io
