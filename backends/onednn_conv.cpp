#include <farro/backends/onednn.hpp>

#ifndef FARRO_HAVE_ONEDNN

namespace farro::onednn {

bool conv_forward(Device, const ConvShape&, float*, const float*, const float*, const float*) {
  return false;
}
bool conv_backward_input(Device, const ConvShape&, float*, const float*, const float*) {
  return false;
}
bool conv_backward_weight(Device, const ConvShape&, float*, const float*, const float*) {
  return false;
}

}  // namespace farro::onednn

#else

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include <farro/backends/kernels/sum_partials.hpp>
#include <farro/backends/kernels/unblock.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/scratch.hpp>

namespace farro::onednn {
namespace {

using dnnl::memory;
using Desc = memory::desc;

enum class Pass : int64_t { Forward, BackwardInput, BackwardWeight };

struct Key {
  ConvShape shape;
  int64_t pass;
  int64_t has_bias;

  friend bool operator==(const Key& a, const Key& b) {
    return std::memcmp(&a, &b, sizeof(Key)) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<Key>);

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t words[sizeof(Key) / 8], h = 0x9E3779B97F4A7C15u;
    std::memcpy(words, &key, sizeof(Key));
    for (uint64_t w : words) h = (h ^ w) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
    return h;
  }
};

/// A primitive of a plan, and a number of its own.
struct Primitive {
  dnnl::primitive handle;
  uint64_t number = 0;

  Primitive() = default;
  explicit Primitive(dnnl::primitive p) : handle(std::move(p)) {
    static std::atomic<uint64_t> last{0};
    number = ++last;
  }
};

/// One array of a primitive: as the caller holds it, as the primitive wants it, and the way between
/// them.
struct Array {
  int argument = 0;
  Desc plain, chosen;
  Primitive reorder;  // empty if the two are one
  size_t bytes = 0;   // of the chosen form
  // Of images as output: their channels and points, and 8 or 16 if the chosen form has blocks of so
  // many channels.
  int64_t channels = 0, points = 0, channel_block = 0;

  bool reordered() const { return reorder.number != 0; }
};

/// The primitive for a number of images.
struct Step {
  int64_t images = 0;
  Array source, weights, destination;
  Desc bias, scratch;
  Primitive convolution;
};

struct Plan {
  Key key;
  bool supported = false;
  int64_t block = 0;  // images of each step but the last
  int64_t blocks = 0;
  Step main, tail;

  const Step& step(int64_t images) const { return images == main.images ? main : tail; }
};

dnnl::engine& engine() {
  static auto* e = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *e;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream s(engine());
  return s;
}

memory::dims spatial(const int64_t (&values)[3], const ConvShape& s, int64_t minus = 0) {
  memory::dims dims;
  for (int64_t i = 3 - s.spatial; i < 3; ++i) dims.push_back(values[i] - minus);
  return dims;
}

/// Of row-major float32.
Desc plain(const memory::dims& leading, const int64_t (&values)[3], const ConvShape& s) {
  memory::dims dims = leading;
  for (int64_t d : spatial(values, s)) dims.push_back(d);
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

memory::dims dims_of(const Desc& d) {
#if DNNL_VERSION_MAJOR >= 3
  return d.get_dims();
#else
  return d.dims();
#endif
}

/// What precedes the last element's padding is given; this is what follows it for the output to
/// have its size.
memory::dims padding_after(const ConvShape& s) {
  memory::dims dims;
  for (int64_t i = 3 - s.spatial; i < 3; ++i) {
    int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    dims.push_back((s.out[i] - 1) * s.stride[i] + reach - s.in[i] - s.padding[i]);
  }
  return dims;
}

#if DNNL_VERSION_MAJOR >= 3
template <class Op, class... Args>
auto make_desc(const dnnl::primitive_attr& attr,
               const dnnl::convolution_forward::primitive_desc* hint, Args&&... args) {
  if constexpr (std::is_same_v<Op, dnnl::convolution_forward>) {
    return typename Op::primitive_desc(engine(), std::forward<Args>(args)..., attr);
  } else {
    return typename Op::primitive_desc(engine(), std::forward<Args>(args)..., *hint, attr);
  }
}
#else
template <class Op, class... Args>
auto make_desc(const dnnl::primitive_attr& attr,
               const dnnl::convolution_forward::primitive_desc* hint, Args&&... args) {
  if constexpr (std::is_same_v<Op, dnnl::convolution_forward>) {
    return
        typename Op::primitive_desc(typename Op::desc(std::forward<Args>(args)...), attr, engine());
  } else {
    return typename Op::primitive_desc(typename Op::desc(std::forward<Args>(args)...), attr,
                                       engine(), *hint);
  }
}
#endif

/// 8 or 16 if the form is that of images whose channels lie in blocks of so many and leave no gap,
/// else 0.
int64_t channel_block_of(const Desc& chosen, const memory::dims& dims) {
  using Tag = memory::format_tag;
  constexpr Tag kTags[2][3] = {{Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c},
                               {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c}};
  for (int64_t i : {0, 1}) {
    int64_t block = 8 * (i + 1);
    if (dims[1] % block == 0 &&
        chosen == Desc(dims, memory::data_type::f32, kTags[i][dims.size() - 3]))
      return block;
  }
  return 0;
}

/// Completes an array once the primitive has chosen its form.
void choose(Array& array, int argument, const Desc& chosen, bool is_output) {
  array.argument = argument;
  array.chosen = chosen;
  array.bytes = chosen.get_size();
  if (chosen == array.plain) return;
  const Desc& from = is_output ? chosen : array.plain;
  const Desc& to = is_output ? array.plain : chosen;
  array.reorder =
      Primitive(dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to)));
  if (!is_output || argument == DNNL_ARG_DIFF_WEIGHTS) return;
  memory::dims dims = dims_of(array.plain);
  array.channels = dims[1];
  array.points = std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>());
  array.channel_block = channel_block_of(chosen, dims);
}

/// `weights_as`, if given, is the form of the weights that another step of the plan has chosen.
Step make_step(const Key& key, int64_t images, const Desc* weights_as) {
  const ConvShape& s = key.shape;
  auto pass = static_cast<Pass>(key.pass);
  Step step;
  step.images = images;
  step.source.plain = plain({images, s.channels_in}, s.in, s);
  step.destination.plain = plain({images, s.channels_out}, s.out, s);
  memory::dims filter = s.groups > 1 ? memory::dims{s.groups, s.group_out(), s.group_in()}
                                     : memory::dims{s.channels_out, s.channels_in};
  step.weights.plain = plain(filter, s.kernel, s);
  if (key.has_bias)
    step.bias = Desc({s.channels_out}, memory::data_type::f32, memory::format_tag::a);

  auto wanted = [](const Desc& d) {
    return Desc(dims_of(d), memory::data_type::f32, memory::format_tag::any);
  };
  Desc x = wanted(step.source.plain), y = wanted(step.destination.plain);
  Desc w = weights_as ? *weights_as : wanted(step.weights.plain);
  auto strides = spatial(s.stride, s), dilates = spatial(s.dilation, s, 1);
  auto before = spatial(s.padding, s), after = padding_after(s);
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);

  auto forward =
      key.has_bias
          ? make_desc<dnnl::convolution_forward>(attr, nullptr, dnnl::prop_kind::forward_training,
                                                 kDirect, x, w, step.bias, y, strides, dilates,
                                                 before, after)
          : make_desc<dnnl::convolution_forward>(attr, nullptr, dnnl::prop_kind::forward_training,
                                                 kDirect, x, w, y, strides, dilates, before, after);
  if (pass == Pass::Forward) {
    choose(step.source, DNNL_ARG_SRC, forward.src_desc(), false);
    choose(step.weights, DNNL_ARG_WEIGHTS, forward.weights_desc(), false);
    choose(step.destination, DNNL_ARG_DST, forward.dst_desc(), true);
    step.scratch = forward.scratchpad_desc();
    step.convolution = Primitive(dnnl::convolution_forward(forward));
  } else if (pass == Pass::BackwardInput) {
    auto desc = make_desc<dnnl::convolution_backward_data>(attr, &forward, kDirect, x, w, y,
                                                           strides, dilates, before, after);
    choose(step.source, DNNL_ARG_DIFF_SRC, desc.diff_src_desc(), true);
    choose(step.weights, DNNL_ARG_WEIGHTS, desc.weights_desc(), false);
    choose(step.destination, DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), false);
    step.scratch = desc.scratchpad_desc();
    step.convolution = Primitive(dnnl::convolution_backward_data(desc));
  } else {
    auto desc = make_desc<dnnl::convolution_backward_weights>(attr, &forward, kDirect, x, w, y,
                                                              strides, dilates, before, after);
    choose(step.source, DNNL_ARG_SRC, desc.src_desc(), false);
    choose(step.weights, DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc(), true);
    choose(step.destination, DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), false);
    step.scratch = desc.scratchpad_desc();
    step.convolution = Primitive(dnnl::convolution_backward_weights(desc));
  }
  return step;
}

/// Images of a block, by the shape alone: enough that a block is worth a primitive's call and its
/// reorders stay in cache, few enough that there is something to share. Weight gradients need a
/// buffer for each block, so they get fewer blocks.
int64_t images_per_block(const Key& key) {
  constexpr int64_t kBlockFlops = int64_t{1} << 25;
  constexpr int64_t kSmallBlockFlops = int64_t{1} << 20;
  constexpr int64_t kMaxPartials = 16;
  constexpr int64_t kPartialBytes = int64_t{32} << 20;
  const ConvShape& s = key.shape;
  int64_t flops = std::max<int64_t>(s.flops_per_image(), 1);
  int64_t block = std::min(kBlockFlops / flops, std::max<int64_t>(16, kSmallBlockFlops / flops));
  if (static_cast<Pass>(key.pass) == Pass::BackwardWeight) {
    int64_t bytes = s.weight_numel() * static_cast<int64_t>(sizeof(float));
    int64_t partials =
        std::clamp<int64_t>(kPartialBytes / std::max<int64_t>(bytes, 1), 1, kMaxPartials);
    block = std::max(block, (s.batch + partials - 1) / partials);
  }
  return std::clamp<int64_t>(block, 1, s.batch);
}

std::shared_ptr<const Plan> make_plan(const Key& key) {
  auto plan = std::make_shared<Plan>();
  plan->key = key;
  plan->block = images_per_block(key);
  plan->blocks = (key.shape.batch + plan->block - 1) / plan->block;
  OneThread one;
  try {
    plan->main = make_step(key, plan->block, nullptr);
    if (int64_t rest = key.shape.batch % plan->block) {
      plan->tail = make_step(key, rest, &plan->main.weights.chosen);
    }
    plan->supported = true;
  } catch (const dnnl::error&) {
    plan->supported = false;
  }
  return plan;
}

/// Plans are kept for all threads, and those that it used last for each. When there are very many,
/// all are forgotten: shapes that never come back must not fill the memory.
std::shared_ptr<const Plan> find_plan(const ConvShape& shape, Pass pass, bool has_bias) {
  constexpr size_t kRecent = 128, kMost = 1024;
  static thread_local std::array<std::shared_ptr<const Plan>, kRecent> recent;
  Key key{shape, static_cast<int64_t>(pass), has_bias};
  std::shared_ptr<const Plan>& slot = recent[KeyHash()(key) % kRecent];
  if (slot && slot->key == key) return slot;

  static std::mutex mutex;
  static auto* plans = new std::unordered_map<Key, std::shared_ptr<const Plan>, KeyHash>;
  std::lock_guard lock(mutex);
  if (plans->size() >= kMost) plans->clear();
  std::shared_ptr<const Plan>& plan = (*plans)[key];
  if (!plan) plan = make_plan(key);
  slot = plan;
  return slot;
}

struct Operand {
  int argument;
  const Desc* desc;
  const void* data;
};
constexpr size_t kMaxOperands = 5;

/// Runs a primitive, always with the same arguments and forms. Each thread keeps the memory objects
/// of those that it ran last: oneDNN makes one by several allocations.
void execute(const Primitive& primitive, std::span<const Operand> operands) {
  struct Kept {
    uint64_t number = 0;
    std::array<memory, kMaxOperands> memories;
  };
  constexpr size_t kRecent = 128;
  static thread_local std::array<Kept, kRecent> recent;
  Kept& kept = recent[primitive.number % kRecent];
  bool known = std::exchange(kept.number, 0) == primitive.number;
  std::array<dnnl_exec_arg_t, kMaxOperands> arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& o = operands[i];
    memory& m = kept.memories[i];
    if (known)
      m.set_data_handle(const_cast<void*>(o.data));
    else
      m = memory(*o.desc, engine(), const_cast<void*>(o.data));
    arguments[i] = {o.argument, m.get()};
  }
  kept.number = primitive.number;
  auto status = dnnl_primitive_execute(primitive.handle.get(), stream().get(),
                                       static_cast<int>(operands.size()), arguments.data());
  dnnl::error::wrap_c_api(status, "could not execute a primitive");
}

void reorder(const Array& array, const Desc& from_desc, const void* from, const Desc& to_desc,
             void* to) {
  const Operand operands[] = {{DNNL_ARG_FROM, &from_desc, from}, {DNNL_ARG_TO, &to_desc, to}};
  execute(array.reorder, operands);
}

/// An input in the form that the primitive wants: the caller's memory, or a copy.
class Input {
 public:
  Input(const Array& array, const float* data) : data_(data) {
    if (!array.reordered()) return;
    copy_ = Scratch(array.bytes);
    reorder(array, array.plain, data, array.chosen, copy_.as<void>());
    data_ = copy_.as<float>();
  }
  const float* data() const { return data_; }

 private:
  const float* data_;
  Scratch copy_;
};

/// Runs forward or backward by the input for the images of one block.
void run_images(const Step& step, const Array& from, const float* in, const float* weights,
                const float* bias, const Array& to, float* out) {
  OneThread one;
  Input input(from, in);
  Scratch result(to.reordered() ? to.bytes : 0), scratch(step.scratch.get_size());
  float* target = to.reordered() ? result.as<float>() : out;
  const Operand operands[] = {{from.argument, &from.chosen, input.data()},
                              {step.weights.argument, &step.weights.chosen, weights},
                              {to.argument, &to.chosen, target},
                              {DNNL_ARG_SCRATCHPAD, &step.scratch, scratch.as<void>()},
                              {DNNL_ARG_BIAS, &step.bias, bias}};
  execute(step.convolution, std::span(operands).first(bias ? 5 : 4));
  if (to.channel_block != 0) {
    kernels::unblock_channels(out, target, step.images * to.channels / to.channel_block, to.points,
                              to.channel_block);
  } else if (to.reordered()) {
    reorder(to, to.chosen, target, to.plain, out);
  }
}

Input weights_for(const Plan& plan, const float* weight) {
  OneThread one;
  return Input(plan.main.weights, weight);
}

double block_cost(const Plan& plan) {
  constexpr double kFlopsPerNanosecond = 32;
  return static_cast<double>(plan.key.shape.flops_per_image() * plan.block) / kFlopsPerNanosecond;
}

/// Calls body(first image, step) for each block.
template <class Body>
void for_blocks(const Plan& plan, Device device, const char* label, const Body& body) {
  parallel_blocks(device, label, {plan.blocks, 1, block_cost(plan)},
                  [&](int64_t begin, int64_t end) {
                    for (int64_t b = begin; b < end; ++b) {
                      int64_t first = b * plan.block;
                      body(first, plan.step(std::min(plan.block, plan.key.shape.batch - first)));
                    }
                  });
}

}  // namespace

bool conv_forward(Device device, const ConvShape& shape, float* out, const float* input,
                  const float* weight, const float* bias) {
  auto found = find_plan(shape, Pass::Forward, bias != nullptr);
  if (!found->supported) return false;
  const Plan& plan = *found;
  Input weights = weights_for(plan, weight);
  int64_t in_image = shape.channels_in * shape.in_size(),
          out_image = shape.channels_out * shape.out_size();
  for_blocks(plan, device, "farro::conv_forward", [&](int64_t first, const Step& step) {
    run_images(step, step.source, input + first * in_image, weights.data(), bias, step.destination,
               out + first * out_image);
  });
  return true;
}

bool conv_backward_input(Device device, const ConvShape& shape, float* grad_input,
                         const float* grad_output, const float* weight) {
  auto found = find_plan(shape, Pass::BackwardInput, false);
  if (!found->supported) return false;
  const Plan& plan = *found;
  Input weights = weights_for(plan, weight);
  int64_t in_image = shape.channels_in * shape.in_size(),
          out_image = shape.channels_out * shape.out_size();
  for_blocks(plan, device, "farro::conv_backward_input", [&](int64_t first, const Step& step) {
    run_images(step, step.destination, grad_output + first * out_image, weights.data(), nullptr,
               step.source, grad_input + first * in_image);
  });
  return true;
}

bool conv_backward_weight(Device device, const ConvShape& shape, float* grad_weight,
                          const float* grad_output, const float* input) {
  auto found = find_plan(shape, Pass::BackwardWeight, false);
  if (!found->supported) return false;
  const Plan& plan = *found;
  int64_t in_image = shape.channels_in * shape.in_size(),
          out_image = shape.channels_out * shape.out_size();
  const Array& weights = plan.main.weights;
  // Partial gradients in the primitive's form; the caller's memory serves as the first where the
  // forms agree.
  size_t bytes = (weights.bytes + 63) / 64 * 64;
  int64_t own = weights.reordered() ? 0 : 1;
  Scratch partials(static_cast<size_t>(plan.blocks - own) * bytes);
  auto part = [&](int64_t p) {
    return p < own ? grad_weight
                   : reinterpret_cast<float*>(partials.as<char>() +
                                              static_cast<size_t>(p - own) * bytes);
  };
  for_blocks(plan, device, "farro::conv_backward_weight", [&](int64_t first, const Step& step) {
    OneThread one;
    Input x(step.source, input + first * in_image),
        dy(step.destination, grad_output + first * out_image);
    Scratch scratch(step.scratch.get_size());
    const Operand operands[] = {
        {step.source.argument, &step.source.chosen, x.data()},
        {step.destination.argument, &step.destination.chosen, dy.data()},
        {step.weights.argument, &step.weights.chosen, part(first / plan.block)},
        {DNNL_ARG_SCRATCHPAD, &step.scratch, scratch.as<void>()}};
    execute(step.convolution, operands);
  });
  kernels::sum_partials(device, plan.blocks, static_cast<int64_t>(weights.bytes / sizeof(float)),
                        part);
  OneThread one;
  if (weights.reordered()) reorder(weights, weights.chosen, part(0), weights.plain, grad_weight);
  return true;
}

}  // namespace farro::onednn

#endif
