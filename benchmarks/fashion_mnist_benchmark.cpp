#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>
#include <farro/examples/train_fashion_mnist/network.hpp>
#include <farro/io/data_loader.hpp>
#include <farro/nn/nn.hpp>
#include <farro/optim/adam.hpp>

namespace farro::benchmarks {

namespace {

constexpr int64_t kBatch = 64;
constexpr double kMean = 0.2860, kStd = 0.3530;  // of the training images

/// A network with its optimizer.
struct Training {
  std::shared_ptr<example::Network> network = std::make_shared<example::Network>();
  std::shared_ptr<optim::Adam> adam;

  explicit Training(Device device) {
    network->to(device);
    adam = std::make_shared<optim::Adam>(network->parameters(), optim::AdamOptions{.lr = 1e-3});
  }
  void step(const Tensor& image, const Tensor& label) const {
    adam->zero_grad();
    nn::functional::cross_entropy((*network)(image), label).backward();
    adam->step();
  }
};

/// Images of an epoch: all, or as many as the environment variable FARRO_EPOCH_IMAGES says.
int64_t image_limit() {
  const char* limit = std::getenv("FARRO_EPOCH_IMAGES");
  return limit ? std::atoll(limit) : 6400;
}

/// P19: an epoch of training on real images, those of the loader's first `limit`, against LibTorch.
Jobs epoch(int64_t limit, Device device) {
  io::ImageDataset data = io::FashionMnist::load(io::FashionMnist::Part::Train);
  data = {data.images.slice(0, 0, limit).contiguous(), data.labels.slice(0, 0, limit).contiguous()};
  auto loader = std::make_shared<io::DataLoader>(data, io::DataLoaderOptions{.batch_size = kBatch,
                                                                             .shuffle = true,
                                                                             .seed = 1,
                                                                             .device = device,
                                                                             .mean = kMean,
                                                                             .std = kStd});
  Training training(device);
  Job ours = [=] {
    for (auto [image, label] : *loader) training.step(image, label);
  };
  int threads = concurrency(device);
  Tensor images = (data.images.to(kFloat32) / 255.0 - kMean) / kStd;
  Tensor labels = data.labels.to(kInt64);
  Job reference = torch_reference::fashion_mnist_epoch(images.data<float>(), labels.data<int64_t>(),
                                                       data.size(), kBatch, threads);
  return {ours, reference, {.items = static_cast<double>(data.size())}, threads};
}

/// P4: what a training step asks of the system once caches are full.
void steady_step(benchmark::State& state, Device device) {
  Training training(device);
  Tensor image = randn({kBatch, 1, 28, 28}, {.device = device}),
         label = randint(0, 10, {kBatch}, {.device = device});
  auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_minflt);
  };
  for (int i = 0; i < 5; ++i) training.step(image, label);
  double faults_before = faults();
  int64_t system_before = memory_stats(device).system_allocations;
  double steps = 0;
  for (auto _ : state) {
    training.step(image, label);
    ++steps;
  }
  state.counters["page_faults"] = (faults() - faults_before) / steps;
  state.counters["system_allocations"] =
      static_cast<double>(memory_stats(device).system_allocations - system_before) / steps;
}

const bool registered = [] {
  for (std::string device : {"serial", "openmp"}) {
    if (!is_available(device)) continue;
    benchmark::RegisterBenchmark(
        ("P4/fashion_mnist/step/" + device + "/f32/64").c_str(),
        [=](benchmark::State& state) { steady_step(state, Device(device)); })
        ->Iterations(15)
        ->UseRealTime();
  }
  std::string device = is_available("openmp") ? "openmp" : "serial";
  add_row("P19/fashion_mnist/epoch/" + device + "/f32/" + std::to_string(image_limit()),
          [=] { return epoch(image_limit(), Device(device)); });
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
