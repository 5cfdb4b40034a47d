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
  std::string layer;  // indented by depth
  std::string output;
  int64_t parameters = 0;
  int64_t multiply_adds = 0;
};

std::string shapes(const Value& value) {
  if (value.is_tensor()) return to_string(value.tensor().sizes());
  Value copy = value;
  std::string text;
  hooks::for_each_tensor(copy, [&](Tensor& t) { text += (text.empty() ? "" : ", ") + to_string(t.sizes()); });
  return text.empty() ? "-" : text;
}

/// Each output of a linear or convolution layer takes one multiply-add for each weight that reaches it.
int64_t multiply_adds(Module& module, const Value& output) {
  bool counted = dynamic_cast<Linear*>(&module) || dynamic_cast<Conv1d*>(&module) || dynamic_cast<Conv2d*>(&module) ||
                 dynamic_cast<Conv3d*>(&module);
  if (!counted || !output.is_tensor()) return 0;
  Tensor weight = module.get_parameter("weight");
  return weight.size(0) == 0 ? 0 : output->numel() * (weight.numel() / weight.size(0));
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string in_bytes(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double kib = static_cast<double>(bytes) / 1024;
  return kib < 1024 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

int64_t byte_count(const Tensor& tensor) { return tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype())); }

class Summary {
 public:
  explicit Summary(Module& root) : root_(root) {
    for (const auto& [path, module] : root.named_modules()) {
      auto depth = path.empty() ? 0 : 1 + std::ranges::count(path, '.');
      std::string name = path.substr(path.rfind('.') + 1);
      std::string layer(static_cast<size_t>(2 * depth), ' ');
      layer += name.empty() ? std::string(module->class_name()) : fmt::format("{} ({})", name, module->class_name());
      rows_.push_back({.module = module, .layer = std::move(layer), .output = "-"});
      for (const Tensor& parameter : module->parameters(false)) rows_.back().parameters += parameter.numel();
    }
  }

  void run(const Args& inputs) {
    std::vector<ScopedHandle> handles;
    std::unordered_map<Module*, bool> modes;
    for (Row& row : rows_) {
      modes.emplace(row.module, row.module->training());
      handles.emplace_back(row.module->register_forward_hook([this, &row](Module&, const Args&, const Value& output) {
        row.output = shapes(output);
        row.multiply_adds += multiply_adds(*row.module, output);
        Value copy = output;
        if (row.module->children().empty()) hooks::for_each_tensor(copy, [&](Tensor& t) { outputs_ += byte_count(t); });
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
    std::vector<std::array<std::string, 4>> cells{{"Layer", "Output shape", "Parameters", "Multiply-adds"}};
    int64_t total = 0;
    for (const Row& row : rows_) {
      cells.push_back({row.layer, row.output, grouped(row.parameters), grouped(row.multiply_adds)});
      total += row.multiply_adds;
    }
    std::array<size_t, 4> widths{};
    for (const auto& line : cells) {
      for (size_t i = 0; i < 4; ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    std::string rule(widths[0] + widths[1] + widths[2] + widths[3] + 6, '-');
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto& line = cells[i];
      text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}\n", line[0], widths[0], line[1], widths[1], line[2], widths[2],
                          line[3], widths[3]);
      if (i == 0) text += rule + "\n";
    }
    return text + rule + "\n" + totals(total);
  }

 private:
  std::string totals(int64_t multiply_adds) {
    int64_t parameters = 0, trained = 0, state = 0;
    for (const Tensor& parameter : root_.parameters()) {
      parameters += parameter.numel();
      if (parameter.requires_grad()) trained += parameter.numel();
      state += byte_count(parameter);
    }
    for (const Tensor& buffer : root_.buffers()) state += byte_count(buffer);
    return fmt::format("Parameters: {} ({} trained)\nMultiply-adds: {}\nParameters and buffers: {}\nOutputs of layers: {}",
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
