#include <farro/nn/summary.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <farro/nn/layers/conv.hpp>
#include <farro/nn/layers/linear.hpp>

namespace farro::nn {
namespace {

struct Row {
  Module* module;
  std::string path;
  std::string output;
  int64_t multiply_adds = 0;
  int64_t bytes = 0;  // of what it returned
};

std::string shapes(const Value& value) {
  if (value.is_tensor()) return to_string(value.tensor().sizes());
  Value copy = value;
  std::string text;
  hooks::for_each_tensor(
      copy, [&](Tensor& t) { text += (text.empty() ? "" : ", ") + to_string(t.sizes()); });
  return text.empty() ? "-" : text;
}

/// Each output of a linear or convolution layer takes one multiply-add for each weight that reaches
/// it.
int64_t multiply_adds(Module& module, const Value& output) {
  bool counted = dynamic_cast<Linear*>(&module) || dynamic_cast<Conv1d*>(&module) ||
                 dynamic_cast<Conv2d*>(&module) || dynamic_cast<Conv3d*>(&module);
  if (!counted || !output.is_tensor()) return 0;
  Tensor weight = module.attr("weight").tensor;  // may be computed
  return weight.size(0) == 0 ? 0 : output->numel() * (weight.numel() / weight.size(0));
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string in_bytes(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double kib = static_cast<double>(bytes) / 1024;
  return kib < 1024 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

int64_t byte_count(const Tensor& tensor) {
  return is_uninitialized(tensor) ? 0
                                  : tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype()));
}

int64_t element_count(Module& module) {
  int64_t count = 0;
  for (const Tensor& parameter : module.parameters(false)) {
    if (!is_uninitialized(parameter)) count += parameter.numel();
  }
  return count;
}

/// Its name and class, indented by depth.
std::string layer(const Row& row) {
  if (row.path.empty()) return std::string(row.module->class_name());
  auto depth = 1 + std::ranges::count(row.path, '.');
  return std::string(static_cast<size_t>(2 * depth), ' ') +
         fmt::format("{} ({})", row.path.substr(row.path.rfind('.') + 1), row.module->class_name());
}

class Summary {
 public:
  explicit Summary(Module& root) : root_(root) {
    for (const auto& [path, module] : root.named_modules()) rows_.push_back({module, path, "-"});
  }

  void run(const Args& inputs) {
    std::vector<ScopedHandle> handles;
    std::unordered_map<Module*, bool> modes;
    for (Row& row : rows_) {
      modes.emplace(row.module, row.module->training());
      handles.emplace_back(row.module->register_forward_hook(
          [this, &row](Module&, const Args&, const Value& output) {
            row.output = shapes(output);
            row.multiply_adds += multiply_adds(*row.module, output);
            Value copy = output;
            int64_t bytes = 0;
            hooks::for_each_tensor(copy, [&](Tensor& t) { bytes += byte_count(t); });
            row.bytes += bytes;
            if (row.module->children().empty()) outputs_ += bytes;
          }));
    }
    struct Restore {
      std::unordered_map<Module*, bool>& modes;
      std::vector<Row>& rows;
      ~Restore() {  // parents before children, so that each has its own mode at the end
        for (Row& row : rows) row.module->train(modes.at(row.module));
      }
    } restore{modes, rows_};
    root_.eval();
    NoGrad guard;
    root_.call(inputs);
  }

  std::string text() {
    std::vector<std::array<std::string, 5>> cells{
        {"Layer", "Output shape", "Parameters", "Multiply-adds", "Bytes"}};
    int64_t total = 0;
    for (const Row& row : rows_) {
      cells.push_back({layer(row), row.output, grouped(element_count(*row.module)),
                       grouped(row.multiply_adds), grouped(row.bytes)});
      total += row.multiply_adds;
    }
    std::array<size_t, 5> widths{};
    for (const auto& line : cells) {
      for (size_t i = 0; i < 5; ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    std::string rule(widths[0] + widths[1] + widths[2] + widths[3] + widths[4] + 8, '-');
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto& line = cells[i];
      text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}\n", line[0], widths[0], line[1],
                          widths[1], line[2], widths[2], line[3], widths[3], line[4], widths[4]);
      if (i == 0) text += rule + "\n";
    }
    return text + rule + "\n" + totals(total);
  }

 private:
  std::string totals(int64_t multiply_adds) {
    int64_t parameters = 0, trained = 0, state = 0;
    for (const Tensor& parameter : root_.parameters()) {
      int64_t count = is_uninitialized(parameter) ? 0 : parameter.numel();
      parameters += count;
      if (parameter.requires_grad()) trained += count;
      state += byte_count(parameter);
    }
    for (const Tensor& buffer : root_.buffers()) state += byte_count(buffer);
    return fmt::format(
        "Parameters: {} ({} trained)\nMultiply-adds: {}\nParameters and buffers: {}\nOutputs of "
        "layers: {}",
        grouped(parameters), grouped(trained), grouped(multiply_adds), in_bytes(state),
        in_bytes(outputs_));
  }

  Module& root_;
  std::vector<Row> rows_;
  int64_t outputs_ = 0;
};

}  // namespace

std::string summary(Module& module, const Args& example_inputs) {
  Summary summary(module);
  summary.run(example_inputs);
  return summary.text();
}

}  // namespace farro::nn
