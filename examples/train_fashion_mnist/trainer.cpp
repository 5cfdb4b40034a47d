#include <farro/examples/train_fashion_mnist/trainer.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>
#include <utility>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/softmax.hpp>
#include <farro/io/atomic_file.hpp>

namespace example {
namespace {

constexpr const char* kFormat = "train_fashion_mnist 1";
// Of the grey values of the 60,000 training images, from 0 to 1.
constexpr double kMean = 0.2860, kStd = 0.3530;

io::ImageDataset limited(io::ImageDataset data, int64_t limit) {
  if (limit > 0 && limit < data.size()) {
    return {data.images.slice(0, 0, limit).contiguous(),
            data.labels.slice(0, 0, limit).contiguous()};
  }
  return data;
}

/// Fowler, Noll and Vo's FNV-1a over the parameters' bytes.
uint64_t hash_of(Network& network) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Tensor& parameter : network.parameters()) {
    Tensor host = parameter.detach().to(Device()).contiguous();
    size_t bytes = static_cast<size_t>(host.numel()) * size_of(host.dtype());
    for (unsigned char byte :
         std::span(static_cast<const unsigned char*>(host.data_ptr()), bytes)) {
      hash = (hash ^ byte) * 0x100000001b3u;
    }
  }
  return hash;
}

template <class T>
T number_in(const io::TensorMap& map, const std::string& key) {
  auto entry = map.metadata.find(key);
  if (entry == map.metadata.end())
    fail<FileError>("resume", "expected '{}' in the metadata, got none", key);
  const std::string& text = entry->second;
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail<FileError>("resume", "expected a number as '{}', got '{}'", key, text);
  }
  return value;
}

/// Takes a setting from the checkpoint; the command line may repeat it, but not contradict.
template <class T>
void adopt(const char* name, bool given, T& mine, const T& stored) {
  if (given && mine != stored) {
    fail<ValueError>(
        "resume",
        "expected --{0} {1}, with which the checkpoint was made, got {2}; leave --{0} out", name,
        stored, mine);
  }
  mine = stored;
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& folder) {
  return folder / "checkpoint.safetensors";
}

Trainer::Trainer(const Options& options) : options_(options), device_(options.backend) {
  io::TensorMap saved;
  bool resume = !options_.resume.empty();
  if (resume) {
    saved = io::load(options_.resume);
    adopt_settings(saved);
  }
  dtype_ = dtype_from_name(options_.dtype);
  manual_seed(options_.seed);
  network_ = std::make_unique<Network>();
  network_->to(device_, dtype_);
  adam_ = std::make_unique<optim::Adam>(network_->parameters(), optim::AdamOptions{.lr = 1e-3});
  auto loader = [&](io::FashionMnist::Part part, int64_t batch_size, bool shuffle) {
    return std::make_unique<io::DataLoader>(
        limited(io::FashionMnist::load(part, options_.data), options_.limit),
        io::DataLoaderOptions{.batch_size = batch_size,
                              .shuffle = shuffle,
                              .seed = options_.seed,
                              .dtype = dtype_,
                              .device = device_,
                              .mean = kMean,
                              .std = kStd});
  };
  train_ = loader(io::FashionMnist::Part::Train, options_.batch_size, true);
  test_ = loader(io::FashionMnist::Part::Test, 250, false);
  if (resume) restore(saved);
}

void Trainer::adopt_settings(const io::TensorMap& saved) {
  auto format = saved.metadata.find("format");
  if (format == saved.metadata.end() || format->second != kFormat) {
    fail<FileError>("resume", "{}: expected a checkpoint of this program, got another file",
                    options_.resume.string());
  }
  auto dtype = saved.metadata.find("dtype");
  if (dtype == saved.metadata.end())
    fail<FileError>("resume", "expected 'dtype' in the metadata, got none");
  adopt("dtype", options_.dtype_given, options_.dtype, dtype->second);
  adopt("batch-size", options_.batch_size_given, options_.batch_size,
        number_in<int64_t>(saved, "batch_size"));
  adopt("seed", options_.seed_given, options_.seed, number_in<uint64_t>(saved, "seed"));
  adopt("limit", options_.limit_given, options_.limit, number_in<int64_t>(saved, "limit"));
}

void Trainer::restore(const io::TensorMap& saved) {
  try {
    train_->set_state(
        {options_.seed, number_in<int64_t>(saved, "epoch"), number_in<int64_t>(saved, "batch")});
    restore_history(saved);
    network_->load_state_dict(saved.under("model."));
    adam_->load_state_dict(saved.under("optimizer."));
    default_generator().set_state({number_in<uint64_t>(saved, "generator_seed"),
                                   number_in<uint64_t>(saved, "generator_operation")});
  } catch (const Error& error) {
    fail<FileError>("resume",
                    "{}: expected a checkpoint of this program, got one that does not fit: {}",
                    options_.resume.string(), error.what());
  }
}

void Trainer::restore_history(const io::TensorMap& saved) {
  const io::DataLoader::State& state = train_->state();
  history_.losses = saved.at("history.loss").to_vector();
  std::vector<double> loss = saved.at("history.epoch_loss").to_vector(),
                      accuracy = saved.at("history.accuracy").to_vector(),
                      speed = saved.at("history.images_per_second").to_vector();
  Tensor hash = saved.at("history.hash");
  auto epochs = static_cast<size_t>(state.epoch);
  if (history_.losses.size() !=
          epochs * static_cast<size_t>(steps_per_epoch()) + static_cast<size_t>(state.batch) ||
      loss.size() != epochs || accuracy.size() != epochs || speed.size() != epochs ||
      hash.numel() != state.epoch) {
    fail<FileError>("resume", "expected the losses of {} epochs and {} steps, got others",
                    state.epoch, state.batch);
  }
  for (size_t i = 0; i < epochs; ++i) {
    history_.epochs.push_back(
        {loss[i], accuracy[i], static_cast<uint64_t>(hash.data<int64_t>()[i]), speed[i]});
  }
}

bool Trainer::train_epoch(const StepReport& report) {
  network_->train();
  history_.losses.reserve(static_cast<size_t>((epochs_done() + 1) * steps_per_epoch()));
  using Clock = std::chrono::steady_clock;
  Clock::time_point before = Clock::now();
  for (auto [image, label] : *train_) {
    adam_->zero_grad();
    Tensor loss = nn::functional::cross_entropy((*network_)(image), label);
    loss.backward();
    adam_->step();
    history_.losses.push_back(loss.item());

    Clock::time_point now = Clock::now();
    seconds_ += std::chrono::duration<double>(now - before).count();
    before = now;
    images_ += label.numel();
    int64_t batch = train_->state().batch;
    bool go_on = report(std::min(batch * options_.batch_size, train_size()), train_size(),
                        history_.losses.back());
    // After the last step the epoch is complete, and its result belongs into the checkpoint.
    if (!go_on && batch < steps_per_epoch()) return false;
  }
  return true;
}

EpochResult Trainer::close_epoch() {
  EpochResult result;
  auto steps = static_cast<size_t>(steps_per_epoch());
  for (size_t i = history_.losses.size() - steps; i < history_.losses.size(); ++i)
    result.loss += history_.losses[i];
  result.loss /= static_cast<double>(steps);
  result.accuracy = evaluate().accuracy();
  result.hash = hash_of(*network_);
  result.images_per_second = static_cast<double>(images_) / std::max(seconds_, 1e-9);
  seconds_ = 0;
  images_ = 0;
  history_.epochs.push_back(result);
  return result;
}

Evaluation Trainer::evaluate() {
  InferenceMode guard;
  network_->eval();
  Evaluation evaluation;
  for (auto [image, label] : *test_) {
    auto [confidence, guess] = softmax((*network_)(image).to(kFloat32), 1).max(1);
    for (double value : label.to_vector()) evaluation.truth.push_back(static_cast<int>(value));
    for (double value : guess.to_vector()) evaluation.guess.push_back(static_cast<int>(value));
    for (double value : confidence.to_vector()) evaluation.confidence.push_back(value);
  }
  return evaluation;
}

io::TensorMap Trainer::checkpoint() {
  io::TensorMap map;
  for (const auto& [name, tensor] : network_->state_dict()) map.append("model." + name, tensor);
  for (const auto& [name, tensor] : adam_->state_dict()) map.append("optimizer." + name, tensor);
  std::vector<double> loss, accuracy, speed;
  std::vector<int64_t> hash;
  for (const EpochResult& epoch : history_.epochs) {
    loss.push_back(epoch.loss);
    accuracy.push_back(epoch.accuracy);
    speed.push_back(epoch.images_per_second);
    hash.push_back(static_cast<int64_t>(epoch.hash));
  }
  auto column = [](const std::vector<double>& values) {
    return from_vector(values, {static_cast<int64_t>(values.size())}, {.dtype = kFloat64});
  };
  map.append("history.loss", column(history_.losses));
  map.append("history.epoch_loss", column(loss));
  map.append("history.accuracy", column(accuracy));
  map.append("history.images_per_second", column(speed));
  map.append("history.hash", from_vector(hash, {static_cast<int64_t>(hash.size())}));
  const io::DataLoader::State& state = train_->state();
  Philox generator = default_generator().state();
  map.metadata = {{"format", kFormat},
                  {"dtype", options_.dtype},
                  {"batch_size", fmt::format("{}", options_.batch_size)},
                  {"seed", fmt::format("{}", options_.seed)},
                  {"limit", fmt::format("{}", options_.limit)},
                  {"epoch", fmt::format("{}", state.epoch)},
                  {"batch", fmt::format("{}", state.batch)},
                  {"generator_seed", fmt::format("{}", generator.seed)},
                  {"generator_operation", fmt::format("{}", generator.operation)}};
  return map;
}

void Trainer::check_room(const std::filesystem::path& file) {
  // Parameters and Adam's two averages of them, with room for the rest; the file goes again unseen.
  size_t bytes = size_t{1} << 20;
  for (const Tensor& p : network_->parameters()) {
    bytes += static_cast<size_t>(p.numel()) *
             (size_of(p.dtype()) + 2 * size_of(compute_dtype(p.dtype())));
  }
  io::AtomicFile probe(file, "checkpoint");
  std::vector<std::byte> block(size_t{1} << 20);
  for (size_t written = 0; written < bytes; written += block.size()) probe.write(block);
}

double Evaluation::accuracy() const {
  int64_t right = 0;
  for (size_t i = 0; i < truth.size(); ++i) right += truth[i] == guess[i];
  return static_cast<double>(right) / static_cast<double>(std::max<size_t>(truth.size(), 1));
}

std::vector<std::vector<int64_t>> Evaluation::confusion(size_t classes) const {
  std::vector<std::vector<int64_t>> counts(classes, std::vector<int64_t>(classes));
  for (size_t i = 0; i < truth.size(); ++i) {
    ++counts[static_cast<size_t>(truth[i])][static_cast<size_t>(guess[i])];
  }
  return counts;
}

}  // namespace example
