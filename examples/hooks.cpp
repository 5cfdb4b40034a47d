/// What goes on inside a network: the activations of every layer and their gradients, for one batch
/// of Fashion-MNIST, as a table and as histograms.
///
///     hooks [--limit N] [--steps N] [--output hooks.svg]

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

#include <farro/examples/train_fashion_mnist/network.hpp>
#include <farro/farro.hpp>
#include <farro/io/svg.hpp>
#include <farro/io/table.hpp>

using namespace farro;

struct Options {
  int64_t limit = 256;
  int64_t steps = 20;
  std::string output = "hooks.svg";
};

/// Images and labels: the data set's, or noise where it is not installed.
io::Batch load_batch(int64_t count) {
  try {
    io::ImageDataset data = io::FashionMnist::load(io::FashionMnist::Part::Test);
    data.images = data.images.slice(0, 0, count);
    data.labels = data.labels.slice(0, 0, count);
    return *io::DataLoader(data, {.batch_size = data.size(), .mean = 0.286, .std = 0.353}).begin();
  } catch (const FileError& error) {
    std::cout << "No images, noise instead: " << error.what() << "\n\n";
    return {randn({count, 1, 28, 28}), randint(0, 10, {count})};
  }
}

/// The outline of a histogram: how many of a hundred elements lie in each of 40 equal parts of
/// their range.
io::Series histogram(const std::string& name, const Tensor& tensor) {
  constexpr size_t kBins = 40;
  std::vector<double> values = tensor.to_vector();
  auto [lowest, highest] = std::ranges::minmax(values);
  double width = highest > lowest ? (highest - lowest) / kBins : 1;
  std::vector<double> counts(kBins);
  for (double value : values) {
    auto bin = static_cast<size_t>(std::max(0.0, (value - lowest) / width));
    counts[std::min(bin, kBins - 1)] += 100.0 / static_cast<double>(values.size());
  }
  io::Series series{.name = name, .x = {lowest}, .y = {0}};
  for (size_t bin = 0; bin < kBins; ++bin) {
    for (size_t end : {bin, bin + 1}) {
      series.x.push_back(lowest + width * static_cast<double>(end));
      series.y.push_back(counts[bin]);
    }
  }
  series.x.push_back(series.x.back());
  series.y.push_back(0);
  return series;
}

std::string number(double value) { return fmt::format("{:.3g}", value); }

/// A line for a layer: what its outputs and their gradients are like.
std::vector<std::string> describe(const std::string& name, const Tensor& output,
                                  const Tensor& gradient) {
  double zeros = (output == 0).to(kFloat32).mean().item();
  return {name,
          to_string(output.sizes()),
          number(output.mean().item()),
          number(output.std().item()),
          fmt::format("{:.0f} %", 100 * zeros),
          number(gradient.norm().item())};
}

void train(example::Network& net, const io::Batch& batch, int64_t steps) {
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  for (int64_t step = 0; step < steps; ++step) {
    adam.zero_grad();
    nn::functional::cross_entropy(net(batch.image), batch.label).backward();
    adam.step();
  }
  net.zero_grad();
}

void show(const Options& options) {
  manual_seed(0);
  example::Network net;
  io::Batch batch = load_batch(options.limit);
  train(net, batch, options.steps);

  // A hook by hand: takes only the arguments that it needs, and goes at the end of the scope.
  int64_t calls = 0;
  ScopedHandle counter = net.fc2->register_forward_hook([&] { ++calls; });

  auto seen = nn::utils::capture(net);
  Tensor loss = nn::functional::cross_entropy(net(batch.image), batch.label);
  loss.backward();

  io::Table table({"layer", "output", "mean", "std", "zeros", "norm of gradient"});
  std::vector<io::Chart> charts;
  for (const std::string& name : seen.names()) {
    Tensor output = seen.activation(name), gradient = seen.gradient(name);
    table.add_row(describe(name, output, gradient));
    charts.push_back({.title = name,
                      .x_label = "output",
                      .y_label = "% of elements",
                      .series = {histogram("outputs", output)}});
    charts.push_back({.title = name + ", gradient",
                      .x_label = "gradient of the loss",
                      .y_label = "% of elements",
                      .series = {histogram("gradients", gradient)}});
  }
  std::cout << table.str() << "\nloss " << number(loss.item()) << " on " << batch.label.numel()
            << " images; fc2 was called " << calls << " time" << (calls == 1 ? "" : "s") << '\n';
  io::write_line_charts(options.output, charts);
  std::cout << "histograms: " << options.output << '\n';
}

int main(int argc, char** argv) {
  Runtime runtime(argc, argv);
  Options options;
  CLI::App app("Activations and gradients of a network's layers");
  app.add_option("--limit", options.limit, "images in the batch")->check(CLI::Range(1, 10000));
  app.add_option("--steps", options.steps, "steps of training before")
      ->check(CLI::Range(0, 100000));
  app.add_option("--output", options.output, "the drawing");
  CLI11_PARSE(app, argc, argv);
  try {
    show(options);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
}
