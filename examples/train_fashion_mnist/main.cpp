/// Trains a small convolutional network on Fashion-MNIST. Exit status: 0 when done, 2 after an
/// error, 128 + the signal's number (130 for Ctrl-C) when it was stopped and has saved a
/// checkpoint.

#include <csignal>
#include <cstdio>
#include <unistd.h>

#include <farro/autograd/ops/factory.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/examples/support/folder.hpp>
#include <farro/examples/support/program.hpp>
#include <farro/examples/train_fashion_mnist/plots.hpp>
#include <farro/examples/train_fashion_mnist/report.hpp>
#include <farro/io/progress.hpp>

namespace {

using namespace example;

volatile std::sig_atomic_t stop_signal = 0;

/// The first Ctrl-C asks to stop at the next step, a second one stops at once.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { stop_signal = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// Saves where the options say; where that fails, in the folder for temporary files, so that no
/// work is lost.
void save(Trainer& trainer, const std::filesystem::path& folder) {
  io::TensorMap checkpoint = trainer.checkpoint();
  try {
    io::save_safetensors(checkpoint, checkpoint_path(folder));
  } catch (const FileError& error) {
    std::error_code ignored;
    std::filesystem::path refuge = std::filesystem::temp_directory_path(ignored) /
                                   fmt::format("train_fashion_mnist-{}.safetensors", ::getpid());
    try {
      io::save_safetensors(checkpoint, refuge);
    } catch (const FileError&) {
      throw error;
    }
    fail<FileError>("checkpoint", "{}; the work is safe in {}: continue with --resume and that",
                    error.what(), refuge.string());
  }
}

/// False if a signal stopped it.
bool train(Trainer& trainer, const std::filesystem::path& folder, std::FILE* out) {
  while (trainer.epochs_done() < trainer.options().epochs) {
    int64_t epoch = trainer.epochs_done() + 1;
    bool started = false;
    io::Progress progress(fmt::format("epoch {}/{}", epoch, trainer.options().epochs),
                          trainer.train_size(), "images");
    bool complete = trainer.train_epoch([&](int64_t done, int64_t, double loss) {
      if (!started) progress.start_at(done - std::min(done, trainer.options().batch_size));
      started = true;
      progress.update(done, fmt::format("loss {:.4f}", loss));
      return stop_signal == 0;
    });
    if (complete) {
      progress.finish();
      fmt::print(out, "{}\n", describe(epoch, trainer.close_epoch()));
      std::fflush(out);
    }
    save(trainer, folder);
    if (stop_signal != 0) return false;
  }
  return true;
}

/// The exit status.
int run(const Options& options) {
  // With --json the result alone goes to the output.
  std::FILE* out = options.json ? stderr : stdout;
  Trainer trainer(options);
  std::filesystem::path folder = made_folder(options.output), curve = folder / kCurveName,
                        pictures = folder / kMisclassifiedName;
  trainer.check_room(checkpoint_path(folder));
  const io::ImageDataset& test = trainer.test_data();
  Tensor example = zeros({1, 1, test.images.size(1), test.images.size(2)},
                         {.dtype = trainer.dtype(), .device = trainer.device()});
  fmt::print(out, "{}\n{}\n", describe(trainer), nn::summary(trainer.network(), {example}));
  if (trainer.epochs_done() >= options.epochs) {
    fmt::print(out, "all of {} epochs are done; ask for more with --epochs\n",
               trainer.epochs_done());
  }
  std::fflush(out);

  stop_on_signals();
  if (!train(trainer, folder, out)) {
    fmt::print(stderr, "stopped; continue with --resume {}\n", checkpoint_path(folder).string());
    if (options.json) fmt::print("{}\n", to_json(trainer, {}, folder, true));
    return 128 + stop_signal;
  }
  Evaluation evaluation = trainer.evaluate();
  write_learning_curve(curve, trainer.history(), trainer.steps_per_epoch());
  write_misclassified(pictures, evaluation, test);
  fmt::print(out, "\n{}\ntest accuracy {:.2f} %\nwrote {}, {}, {}\n", confusion_table(evaluation),
             100 * evaluation.accuracy(), curve.string(), pictures.string(),
             checkpoint_path(folder).string());
  if (options.json) fmt::print("{}\n", to_json(trainer, evaluation, folder, false));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Trains a convolutional network on Fashion-MNIST and reports how well it does.\n"
      "Ctrl-C saves a checkpoint before it stops; --resume continues from one.",
      "train_fashion_mnist");
  Options options;
  add_options(app, options);
  return run_program(app, argc, argv, [&] {
    Runtime runtime(Runtime::Options{.threads = options.threads});
    return run(options);
  });
}
