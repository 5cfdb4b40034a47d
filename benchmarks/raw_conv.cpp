#include <farro/benchmarks/raw_conv.hpp>

#ifndef FARRO_HAVE_ONEDNN

namespace farro::benchmarks {
RawConv raw_conv(const ConvShape&) { return {}; }
}  // namespace farro::benchmarks

#else

#include <oneapi/dnnl/dnnl.hpp>

#include <cstring>

#include <farro/backends/one_thread.hpp>

namespace farro::benchmarks {
namespace {

using dnnl::memory;

#if DNNL_VERSION_MAJOR >= 3
template <class Op, class... Args>
auto describe(const dnnl::engine& engine, Args&&... args) {
  return typename Op::primitive_desc(engine, std::forward<Args>(args)...);
}
template <class Op, class Hint, class... Args>
auto describe_backward(const dnnl::engine& engine, const Hint& hint, Args&&... args) {
  return typename Op::primitive_desc(engine, std::forward<Args>(args)..., hint);
}
#else
template <class Op, class... Args>
auto describe(const dnnl::engine& engine, Args&&... args) {
  return typename Op::primitive_desc(typename Op::desc(std::forward<Args>(args)...), engine);
}
template <class Op, class Hint, class... Args>
auto describe_backward(const dnnl::engine& engine, const Hint& hint, Args&&... args) {
  return typename Op::primitive_desc(typename Op::desc(std::forward<Args>(args)...), engine, hint);
}
#endif

memory filled(const memory::desc& desc, const dnnl::engine& engine) {
  memory m(desc, engine);
  auto* values = static_cast<float*>(m.get_data_handle());
  std::fill(values, values + desc.get_size() / sizeof(float), 0.5f);
  return m;
}

Job job(const dnnl::primitive& primitive, const dnnl::engine& engine,
        std::unordered_map<int, memory> arguments) {
  return [primitive, stream = dnnl::stream(engine), arguments = std::move(arguments)]() mutable {
    OneThread one;
    primitive.execute(stream, arguments);
    stream.wait();
  };
}

}  // namespace

RawConv raw_conv(const ConvShape& s) {
  OneThread one;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  auto any = [](memory::dims dims) {
    return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
  };
  auto x = any({s.batch, s.channels_in, s.in[1], s.in[2]}),
       y = any({s.batch, s.channels_out, s.out[1], s.out[2]});
  auto w = any({s.channels_out, s.channels_in, s.kernel[1], s.kernel[2]});
  memory::dims stride{s.stride[1], s.stride[2]}, padding{s.padding[1], s.padding[2]};
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;

  auto forward = describe<dnnl::convolution_forward>(engine, dnnl::prop_kind::forward_training,
                                                     kDirect, x, w, y, stride, padding, padding);
  auto data = describe_backward<dnnl::convolution_backward_data>(engine, forward, kDirect, x, w, y,
                                                                 stride, padding, padding);
  auto weights = describe_backward<dnnl::convolution_backward_weights>(
      engine, forward, kDirect, x, w, y, stride, padding, padding);
  return {job(dnnl::convolution_forward(forward), engine,
              {{DNNL_ARG_SRC, filled(forward.src_desc(), engine)},
               {DNNL_ARG_WEIGHTS, filled(forward.weights_desc(), engine)},
               {DNNL_ARG_DST, filled(forward.dst_desc(), engine)}}),
          job(dnnl::convolution_backward_data(data), engine,
              {{DNNL_ARG_DIFF_SRC, filled(data.diff_src_desc(), engine)},
               {DNNL_ARG_WEIGHTS, filled(data.weights_desc(), engine)},
               {DNNL_ARG_DIFF_DST, filled(data.diff_dst_desc(), engine)}}),
          job(dnnl::convolution_backward_weights(weights), engine,
              {{DNNL_ARG_SRC, filled(weights.src_desc(), engine)},
               {DNNL_ARG_DIFF_WEIGHTS, filled(weights.diff_weights_desc(), engine)},
               {DNNL_ARG_DIFF_DST, filled(weights.diff_dst_desc(), engine)}})};
}

}  // namespace farro::benchmarks

#endif
