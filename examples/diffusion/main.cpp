/// Finds out how well a material conducts heat at each place, from how heat spread through it: a
/// Kokkos kernel with a hand-written adjoint, gradient descent through all steps of time, and a
/// picture of what was found. Exit status: 0 when done, 2 after an error, a gradient check that
/// fails among them.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/examples/diffusion/heatmaps.hpp>
#include <farro/examples/diffusion/problem.hpp>
#include <farro/examples/diffusion/stencil.hpp>
#include <farro/examples/support/folder.hpp>
#include <farro/examples/support/program.hpp>
#include <farro/io/progress.hpp>
#include <farro/optim/adam.hpp>

namespace {

using namespace example;

struct Options {
  std::string backend = "cpu";
  int threads = 0;
  uint64_t seed = 1;
  std::string dtype = "float32";
  DiffusionProblem::Options problem;
  int64_t steps = 150;
  double lr = 0.1;
  double smoothing = 1e-2;
  std::filesystem::path output = "diffusion";
};

void add_options(CLI::App& app, Options& o) {
  add_backend_options(app, o.backend, o.threads);
  app.add_option("--seed", o.seed, "of the noise; the same bits on all host backends");
  app.add_option("--dtype", o.dtype, "of the fields")->check(CLI::IsMember({"float32", "float64"}));
  app.add_option("--size", o.problem.size, "cells of the grid each way")
      ->check(CLI::Range(4, 1024));
  app.add_option("--time-steps", o.problem.time_steps, "for which the heat spreads")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--noise", o.problem.noise, "standard deviation of what is measured")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--steps", o.steps, "of gradient descent")->check(CLI::Range(1, 1'000'000));
  app.add_option("--lr", o.lr, "Adam's learning rate")->check(CLI::PositiveNumber);
  app.add_option("--smoothing", o.smoothing, "weight of the squared differences of neighbours")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--output", o.output, "the folder for the picture");
  for (CLI::Option* option : app.get_options()) option->capture_default_str();
}

/// Both adjoints and theirs, against differences of the kernel's results. Throws GradcheckError.
void check_gradients(Device device) {
  TensorOptions form{.dtype = kFloat64, .device = device};
  Tensor u = rand({4, 5}, form).requires_grad_(), a = rand({4, 5}, form).requires_grad_();
  auto step = [](const std::vector<Tensor>& in) { return diffuse(in[0], in[1], 0.5); };
  GradcheckOptions options{.check_forward_ad = true};
  gradcheck(step, {u, a}, options);
  gradgradcheck(step, {u, a}, options);
  fmt::print("the adjoint agrees with finite differences: first and second derivatives, on {}\n",
             device.str());
}

double relative_error(const Tensor& found, const Tensor& truth) {
  return (found - truth).norm().item() / truth.norm().item();
}

Tensor recover(const DiffusionProblem& problem, const Options& options) {
  Tensor free = zeros_like(problem.true_diffusivity()).requires_grad_();
  auto diffusivity = [&] { return sigmoid(free) * kHighestDiffusivity; };
  optim::Adam adam({free}, {.lr = options.lr});
  io::Progress progress("descent", options.steps, "steps");
  double loss = 0;
  for (int64_t step = 1; step <= options.steps; ++step) {
    adam.zero_grad();
    Tensor a = diffusivity(), misfit = problem.misfit(a);
    (misfit + roughness(a) * options.smoothing).backward();
    adam.step();
    loss = misfit.item();
    progress.update(step, fmt::format("misfit {:.3e}", loss));
  }
  progress.finish();
  NoGrad guard;
  Tensor found = diffusivity();
  fmt::print("misfit {:.3e} after {} steps\nrelative error of the diffusivity {:.4f}\n", loss,
             options.steps, relative_error(found, problem.true_diffusivity()));
  return found;
}

void draw(const std::filesystem::path& file, const DiffusionProblem& problem, const Tensor& found) {
  const Tensor& truth = problem.true_diffusivity();
  Tensor error = (found - truth).abs();
  double highest = truth.max().item();
  write_heatmaps(file, {{"heat at first", problem.first_states().back(), 0, 1},
                        {"heat at last", problem.measured().back().back(), 0, 1},
                        {"true diffusivity", truth, 0, highest},
                        {"diffusivity found", found, 0, highest},
                        {"error", error, 0, error.max().item()}});
  fmt::print("wrote {}\n", file.string());
}

int run(Options options) {
  Runtime runtime(Runtime::Options{.threads = options.threads});
  Device device(options.backend);
  std::filesystem::path folder = made_folder(options.output);
  manual_seed(options.seed);
  check_gradients(device);
  options.problem.form = {.dtype = dtype_from_name(options.dtype), .device = device};
  DiffusionProblem problem(options.problem);
  draw(folder / "diffusivity.png", problem, recover(problem, options));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Finds a material's diffusivity from how heat spread through it.", "diffusion");
  Options options;
  add_options(app, options);
  return run_program(app, argc, argv, [&] { return run(options); });
}
