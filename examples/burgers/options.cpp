#include <farro/examples/burgers/options.hpp>
#include <farro/examples/support/program.hpp>

namespace example {

void add_options(CLI::App& app, BurgersOptions& o) {
  add_backend_options(app, o.backend, o.threads);
  app.add_option("--seed", o.seed, "the same seed gives the same bits on all host backends");
  app.add_option("--steps", o.steps, "steps of training")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  app.add_option("--derivatives", o.derivatives,
                 "u_xx by reverse mode over reverse mode, or by forward mode over it")
      ->check(CLI::IsMember({"reverse", "forward"}));
  app.add_option("--dtype", o.dtype, "of parameters and points")
      ->check(CLI::IsMember({"float32", "float64"}));
  app.add_option("--points", o.points, "points of a step at which the equation shall hold")
      ->check(CLI::Range(int64_t{2}, int64_t{1'000'000}));
  app.add_option("--width", o.width, "units of a hidden layer")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
  app.add_option("--depth", o.depth, "hidden layers")->check(CLI::Range(int64_t{1}, int64_t{100}));
  app.add_option("--lr", o.lr, "Adam's learning rate at first; it falls to 0 along a cosine")
      ->check(CLI::PositiveNumber);
  app.add_option("--viscosity", o.viscosity, "ν of u_t + u u_x = ν u_xx")
      ->check(CLI::Range(1e-3, 1.0));
  app.add_option("--output", o.output, "the folder for the drawing");
  for (CLI::Option* option : app.get_options()) option->capture_default_str();
}

}  // namespace example
