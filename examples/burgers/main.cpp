/// A network that is trained to solve Burgers' equation, u_t + u u_x = ν u_xx for x in [−1, 1] and
/// t in [0, 1], with u(0, x) = −sin πx and u(t, ±1) = 0, and is told nothing of the solution
/// (Raissi, Perdikaris, Karniadakis: Physics-informed neural networks; 2019). What it found is
/// compared with the exact solution. Exit status: 0 when done, 2 after an error.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include <farro/backends/runtime.hpp>
#include <farro/examples/burgers/evaluation.hpp>
#include <farro/examples/burgers/trainer.hpp>
#include <farro/examples/support/folder.hpp>
#include <farro/examples/support/program.hpp>
#include <farro/io/progress.hpp>
#include <farro/io/table.hpp>

namespace {

using namespace example;

std::vector<double> train(BurgersTrainer& trainer, int64_t steps) {
  std::vector<double> losses;
  io::Progress progress("training", steps, "steps");
  for (int64_t step = 1; step <= steps; ++step) {
    losses.push_back(trainer.step());
    progress.update(step, fmt::format("loss {:.2e}", losses.back()));
  }
  progress.finish();
  return losses;
}

std::string table_of(const std::vector<Snapshot>& snapshots) {
  io::Table table({"t", "relative L2 error", "largest error"});
  for (const Snapshot& s : snapshots) {
    table.add_row({fmt::format("{:.2f}", s.t), fmt::format("{:.2e}", s.relative_error()),
                   fmt::format("{:.2e}", s.largest_error())});
  }
  return table.str();
}

int run(const BurgersOptions& options) {
  Runtime runtime(Runtime::Options{.threads = options.threads});
  std::filesystem::path file = made_folder(options.output) / "burgers.svg";
  BurgersTrainer trainer(options);
  BurgersSolution solution(options.viscosity);
  int64_t parameters = 0;
  for (const Tensor& p : trainer.network().parameters()) parameters += p.numel();
  fmt::print("{} parameters, {}, {} points on {}; u_xx by {} over reverse mode\n", parameters,
             options.dtype, options.points, trainer.device().str(), options.derivatives);
  fmt::print("relative L2 error {:.3e} before training\n", relative_l2_error(trainer, solution));
  std::fflush(stdout);

  auto start = std::chrono::steady_clock::now();
  std::vector<double> losses = train(trainer, options.steps);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  std::vector<Snapshot> snapshots;
  for (double t : {0.25, 0.5, 0.75, 1.0}) snapshots.push_back(snapshot(trainer, solution, t));
  draw_burgers(file, snapshots, losses);
  fmt::print("\n{}\nrelative L2 error {:.3e} after {} steps in {:.1f} s\nwrote {}\n",
             table_of(snapshots), relative_l2_error(trainer, solution), options.steps,
             seconds.count(), file.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Trains a network to solve Burgers' equation and compares it with the exact solution.",
      "burgers");
  BurgersOptions options;
  add_options(app, options);
  return run_program(app, argc, argv, [&] { return run(options); });
}
