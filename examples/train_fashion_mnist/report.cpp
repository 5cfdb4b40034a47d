#include <nlohmann/json.hpp>

#include <farro/backends/launch.hpp>
#include <farro/examples/train_fashion_mnist/plots.hpp>
#include <farro/examples/train_fashion_mnist/report.hpp>
#include <farro/io/table.hpp>

namespace example {
namespace {

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

}  // namespace

std::string describe(const Trainer& trainer) {
  const Options& o = trainer.options();
  return fmt::format(
      "Fashion-MNIST: {} images to train on, {} to test with\n"
      "{} on {} with {} thread{}, batches of {}, seed {}\n",
      trainer.train_size(), trainer.test_data().size(), name_of(trainer.dtype()),
      trainer.device().str(), concurrency(trainer.device()),
      concurrency(trainer.device()) == 1 ? "" : "s", o.batch_size, o.seed);
}

std::string describe(int64_t epoch, const EpochResult& result) {
  return fmt::format("epoch {}  loss {:.4f}  test accuracy {}  {:.0f} images/s  parameters {:016x}",
                     epoch, result.loss, percent(result.accuracy), result.images_per_second,
                     result.hash);
}

std::string confusion_table(const Evaluation& evaluation) {
  const auto& classes = io::FashionMnist::classes;
  std::vector<std::string> head = {"shown \\ taken for"};
  for (std::string_view name : classes) head.emplace_back(name.substr(0, 7));
  head.emplace_back("right");
  io::Table table(head);
  std::vector<std::vector<int64_t>> counts = evaluation.confusion(classes.size());
  for (size_t truth = 0; truth < classes.size(); ++truth) {
    std::vector<std::string> row = {std::string(classes[truth])};
    int64_t all = 0;
    for (int64_t count : counts[truth]) {
      row.push_back(count == 0 ? "." : fmt::format("{}", count));
      all += count;
    }
    row.push_back(
        all == 0 ? "-"
                 : percent(static_cast<double>(counts[truth][truth]) / static_cast<double>(all)));
    table.add_row(row);
  }
  return table.str();
}

std::string to_json(const Trainer& trainer, const Evaluation& evaluation,
                    const std::filesystem::path& folder, bool interrupted) {
  const Options& o = trainer.options();
  nlohmann::ordered_json json;
  json["backend"] = trainer.device().str();
  json["threads"] = concurrency(trainer.device());
  json["dtype"] = name_of(trainer.dtype());
  json["batch_size"] = o.batch_size;
  json["seed"] = o.seed;
  json["train_images"] = trainer.train_size();
  json["test_images"] = trainer.test_data().size();
  json["interrupted"] = interrupted;
  json["epochs"] = nlohmann::ordered_json::array();
  for (const EpochResult& epoch : trainer.history().epochs) {
    json["epochs"].push_back({{"loss", epoch.loss},
                              {"accuracy", epoch.accuracy},
                              {"images_per_second", epoch.images_per_second},
                              {"parameters", fmt::format("{:016x}", epoch.hash)}});
  }
  json["losses"] = trainer.history().losses;
  if (!interrupted) {
    json["accuracy"] = evaluation.accuracy();
    json["confusion"] = evaluation.confusion(io::FashionMnist::classes.size());
    json["learning_curve"] = (folder / kCurveName).string();
    json["misclassified"] = (folder / kMisclassifiedName).string();
  }
  json["checkpoint"] = checkpoint_path(folder).string();
  return json.dump();
}

}  // namespace example
