#include <farro/examples/burgers/evaluation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <farro/io/svg.hpp>

namespace example {
namespace {

constexpr int kTimes = 100, kPlaces = 256;

double squared_norm(const std::vector<double>& a) {
  double sum = 0;
  for (double v : a) sum += v * v;
  return sum;
}

std::vector<double> errors(const Snapshot& s) {
  std::vector<double> result;
  for (size_t i = 0; i < s.x.size(); ++i) result.push_back(s.found[i] - s.exact[i]);
  return result;
}

/// log10 of the means of at most 500 equal parts of the steps.
io::Series loss_curve(const std::vector<double>& losses) {
  io::Series series{"mean square of the weighted residual", {}, {}};
  size_t part = std::max<size_t>(1, losses.size() / 500);
  for (size_t i = 0; i + part <= losses.size(); i += part) {
    double sum = 0;
    for (size_t k = 0; k < part; ++k) sum += losses[i + k];
    series.x.push_back(static_cast<double>(i + part));
    series.y.push_back(std::log10(sum / static_cast<double>(part)));
  }
  return series;
}

}  // namespace

double Snapshot::relative_error() const {
  return std::sqrt(squared_norm(errors(*this)) / squared_norm(exact));
}

double Snapshot::largest_error() const {
  double largest = 0;
  for (double e : errors(*this)) largest = std::max(largest, std::abs(e));
  return largest;
}

Snapshot snapshot(BurgersTrainer& trainer, const BurgersSolution& solution, double t) {
  Snapshot s{.t = t, .x = {}, .found = {}, .exact = {}};
  for (int i = 0; i <= kPlaces; ++i) s.x.push_back(-1 + 2.0 * i / kPlaces);
  s.found = trainer.predict(t, s.x);
  for (double x : s.x) s.exact.push_back(solution(t, x));
  return s;
}

double relative_l2_error(BurgersTrainer& trainer, const BurgersSolution& solution) {
  double difference = 0, all = 0;
  for (int i = 0; i <= kTimes; ++i) {
    Snapshot s = snapshot(trainer, solution, static_cast<double>(i) / kTimes);
    difference += squared_norm(errors(s));
    all += squared_norm(s.exact);
  }
  return std::sqrt(difference / all);
}

void draw_burgers(const std::filesystem::path& file, const std::vector<Snapshot>& snapshots,
                  const std::vector<double>& losses) {
  std::vector<io::Chart> charts;
  io::Chart differences{"Network − exact", "x", "difference", {}};
  for (const Snapshot& s : snapshots) {
    charts.push_back(
        {.title = fmt::format("t = {:.2f}: relative L2 error {:.1e}", s.t, s.relative_error()),
         .x_label = "x",
         .y_label = "u",
         .series = {{"exact", s.x, s.exact}, {"network", s.x, s.found}}});
    differences.series.push_back({fmt::format("t = {:.2f}", s.t), s.x, errors(s)});
  }
  charts.push_back(differences);
  charts.push_back({.title = "Training loss",
                    .x_label = "step",
                    .y_label = "log10 of the loss",
                    .series = {loss_curve(losses)}});
  io::write_line_charts(file, charts);
}

}  // namespace example
