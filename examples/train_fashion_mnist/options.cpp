#include <farro/examples/support/program.hpp>
#include <farro/examples/train_fashion_mnist/options.hpp>
#include <farro/io/fashion_mnist.hpp>

namespace example {

void add_options(CLI::App& app, Options& o) {
  o.data = farro::io::FashionMnist::default_folder();
  add_backend_options(app, o.backend, o.threads);
  app.add_option("--epochs", o.epochs, "how often to go through the images")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  auto* batch_size = app.add_option("--batch-size", o.batch_size, "images of a step")
                         ->check(CLI::Range(int64_t{1}, int64_t{60'000}))
                         ->capture_default_str();
  auto* seed =
      app.add_option("--seed", o.seed, "the same seed gives the same bits on all host backends")
          ->capture_default_str();
  auto* dtype = app.add_option("--dtype", o.dtype, "of parameters and images")
                    ->check(CLI::IsMember({"float32", "float64", "bfloat16"}))
                    ->capture_default_str();
  app.add_option("--resume", o.resume, "continues from this checkpoint");
  app.add_flag("--json", o.json, "prints the results as JSON, and all else on the error stream");
  app.add_option("--data", o.data, "the folder with the data")->capture_default_str();
  app.add_option("--output", o.output, "the folder for curve, pictures and checkpoint")
      ->capture_default_str();
  auto* limit = app.add_option("--limit", o.limit,
                               "trains on so many images only, and tests on as many; 0 for all")
                    ->check(CLI::Range(int64_t{0}, int64_t{60'000}))
                    ->capture_default_str();
  app.callback([&o, batch_size, seed, dtype, limit] {
    o.batch_size_given = batch_size->count() > 0;
    o.seed_given = seed->count() > 0;
    o.dtype_given = dtype->count() > 0;
    o.limit_given = limit->count() > 0;
  });
}

}  // namespace example
