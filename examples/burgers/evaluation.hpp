#pragma once

#include <filesystem>
#include <vector>

#include <farro/examples/burgers/exact.hpp>
#include <farro/examples/burgers/trainer.hpp>

namespace example {

/// Network and exact solution at one time.
struct Snapshot {
  double t;
  std::vector<double> x, found, exact;

  /// ‖found − exact‖ / ‖exact‖
  double relative_error() const;
  double largest_error() const;
};

Snapshot snapshot(BurgersTrainer& trainer, const BurgersSolution& solution, double t);

/// ‖found − exact‖ / ‖exact‖ over 101 times from 0 to 1 and 257 places from −1 to 1.
double relative_l2_error(BurgersTrainer& trainer, const BurgersSolution& solution);

/// Draws the snapshots, and the loss of each step on a logarithmic axis. FileError.
void draw_burgers(const std::filesystem::path& file, const std::vector<Snapshot>& snapshots,
                  const std::vector<double>& losses);

}  // namespace example
