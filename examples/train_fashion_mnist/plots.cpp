#include <farro/examples/train_fashion_mnist/plots.hpp>

#include <algorithm>

#include <farro/io/image.hpp>
#include <farro/io/svg.hpp>

namespace example {

void write_learning_curve(const std::filesystem::path& file, const History& history,
                          int64_t steps_per_epoch) {
  io::Series each{"each step (every tenth)", {}, {}}, smooth{"mean of 50 steps", {}, {}};
  constexpr size_t kWindow = 50;
  double sum = 0;
  for (size_t i = 0; i < history.losses.size(); ++i) {
    double epoch = static_cast<double>(i + 1) / static_cast<double>(steps_per_epoch);
    sum += history.losses[i];
    if (i >= kWindow) sum -= history.losses[i - kWindow];
    if (i % 10 == 0) {
      each.x.push_back(epoch);
      each.y.push_back(history.losses[i]);
    }
    if (i + 1 >= kWindow && i % 5 == 0) {
      smooth.x.push_back(epoch);
      smooth.y.push_back(sum / kWindow);
    }
  }
  io::Series accuracy{"test images", {}, {}, true};
  for (size_t i = 0; i < history.epochs.size(); ++i) {
    accuracy.x.push_back(static_cast<double>(i + 1));
    accuracy.y.push_back(100 * history.epochs[i].accuracy);
  }
  std::vector<io::Series> losses{each};
  if (!smooth.x.empty()) losses.push_back(smooth);
  std::vector<double> epochs{0, static_cast<double>(history.epochs.size())};
  io::write_line_charts(file, {{"Training loss (cross entropy)", "epoch", "loss", losses, epochs},
                               {"Test accuracy", "epoch", "%", {accuracy}, epochs}});
}

void write_misclassified(const std::filesystem::path& file, const Evaluation& evaluation,
                         const io::ImageDataset& data) {
  constexpr size_t kShown = 60;
  std::vector<size_t> wrong;
  for (size_t i = 0; i < evaluation.truth.size(); ++i) {
    if (evaluation.truth[i] != evaluation.guess[i]) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [&](size_t a, size_t b) {
    return evaluation.confidence[a] > evaluation.confidence[b];
  });
  std::string title =
      fmt::format("{} of {} test images misclassified", wrong.size(), evaluation.truth.size());
  if (wrong.size() > kShown) title += fmt::format(". the {} most certain mistakes:", kShown);
  wrong.resize(std::min(wrong.size(), kShown));
  const auto& classes = io::FashionMnist::classes;
  std::vector<io::SheetEntry> entries;
  for (size_t i : wrong) {
    const uint8_t* grey = data.images.data<uint8_t>() + i * 28 * 28;
    entries.push_back({std::vector<uint8_t>(grey, grey + 28 * 28),
                       std::string(classes[static_cast<size_t>(evaluation.truth[i])]),
                       "> " + std::string(classes[static_cast<size_t>(evaluation.guess[i])])});
  }
  io::write_png(file, io::contact_sheet(title, entries, 28, 10));
}

}  // namespace example
