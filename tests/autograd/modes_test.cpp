#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <utility>

#include <support/compare.hpp>
#include <farro/autograd/anomaly.hpp>
#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/multi_grad_hook.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/random_fill.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/saved_tensors.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;
using farro::test::leaf;
using Inputs = std::vector<Tensor>;
using Values = std::vector<double>;

namespace {

/// A scope that counts what it sees.
struct Counts {
  int packed = 0, unpacked = 0;
};

Tensor variable(const Dims& sizes, uint64_t seed) {
  return test::random(sizes, {.requires_grad = true}, seed, 0.3, 1.6);
}

}  // namespace

TEST_CASE("saved-tensor hooks see each saved slot once", "[A15]") {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  Counts counts;
  auto pack = [&](const Tensor& t) { return ++counts.packed, std::pair(t.to_vector(), t.sizes()); };
  auto unpack = [&](const std::pair<Values, Dims>& kept) {
    return ++counts.unpacked, test::from_values(kept.first, kept.second);
  };
  Tensor y;
  {
    SavedTensors scope(pack, unpack);
    y = (exp(x * w) + x).sum();  // mul keeps two tensors, exp its result, add and sum none
  }
  CHECK(counts.packed == 3);
  (y * y).backward();  // outside of the scope
  CHECK(counts.packed == 3);
  CHECK(counts.unpacked == 3);
  Tensor a = leaf({1, 2}), b = leaf({3, 4}), z = (exp(a * b) + a).sum();
  (z * z).backward();
  CHECK(x.grad().to_vector() == a.grad().to_vector());
  CHECK(w.grad().to_vector() == b.grad().to_vector());
  CHECK_THROWS_AS(y.backward(), GradError);  // freed
}

TEST_CASE("saved-tensor hooks: higher derivatives, nesting, wrong tensors", "[A15]") {
  auto same = [](const Tensor& t) { return t.clone(); };
  auto f = [&](const Inputs& in) {
    SavedTensors scope(same, same);
    return exp(in[0] * in[1]) / in[0];
  };
  Inputs in{variable({3}, 1), variable({3}, 2)};
  CHECK(gradcheck(f, in));
  CHECK(gradgradcheck(f, in));

  Counts outer, inner;
  auto counting = [](Counts& c) { return [&c](const Tensor& t) { return ++c.packed, t; }; };
  auto as_it_is = [](const Tensor& t) { return t; };
  {
    SavedTensors one(counting(outer), as_it_is);
    Tensor y = in[0] * in[1];
    {
      SavedTensors two(counting(inner), as_it_is);
      y = y * in[1];
    }
    y = exp(y);
  }
  CHECK(outer.packed == 3);
  CHECK(inner.packed == 2);

  Tensor y;
  {
    SavedTensors wrong(as_it_is, [](const Tensor& t) { return t.slice(0, 0, 1); });
    y = (in[0] * in[1]).sum();
  }
  CHECK_THROWS_WITH(y.backward(), ContainsSubstring("unpacking"));
  // A hook that throws leaves the scope as it was.
  SavedTensors failing([](const Tensor&) -> Tensor { throw std::runtime_error("no"); }, as_it_is);
  CHECK_THROWS_WITH(exp(in[0]), "no");
  CHECK_THROWS_WITH(exp(in[0]), "no");
}

TEST_CASE("saved tensors in bfloat16, or elsewhere", "[A15]") {
  Tensor x = test::random({1000}, {.dtype = kFloat32, .requires_grad = true}, 1, 0.3, 1.6), y;
  {
    SavedTensorsAs half(kBFloat16);
    y = (x * x).sum();
  }
  y.backward();
  Tensor expected = x.detach().to(kBFloat16).to(kFloat32) * 2.0;
  CHECK(test::difference(x.grad(), expected) == "");
  CHECK_FALSE(test::difference(x.grad(), x.detach() * 2.0) == "");
  CHECK_THROWS_AS(SavedTensorsAs(kInt32), TypeError);
  x.set_grad({});
  {
    SavedTensorsOn host(Device("cpu"));
    y = (x * x).sum();
  }
  y.backward();
  CHECK(test::difference(x.grad(), x.detach() * 2.0) == "");
}

TEST_CASE("checkpointing recomputes in backward", "[A16]") {
  int runs = 0;
  Tensor w = variable({3, 3}, 5);
  auto block = [&](const Tensor& x, const Tensor& y) {
    ++runs;
    return tanh(matmul(x, w)) * y;
  };
  Tensor x = variable({3, 3}, 1), y = variable({3, 3}, 2);
  Tensor loss = checkpoint(block, x, y).sum();
  CHECK(runs == 1);
  loss.backward();
  CHECK(runs == 2);
  Values gx = x.grad().to_vector(), gy = y.grad().to_vector(), gw = w.grad().to_vector();
  for (const Tensor& t : {x, y, w}) t.set_grad({});
  block(x, y).sum().backward();
  CHECK(x.grad().to_vector() == gx);
  CHECK(y.grad().to_vector() == gy);
  CHECK(w.grad().to_vector() == gw);
  // grad(), an input without grad, create_graph, several backwards.
  Tensor plain = y.detach();
  Tensor z = checkpoint(block, x, plain).sum();
  CHECK(grad({z}, {x, w}, {.retain_graph = true})[0].to_vector() == gx);
  CHECK(grad({z}, {x, w})[1].to_vector() == gw);
  auto f = [&](const Inputs& in) {
    return checkpoint([](const Tensor& a, const Tensor& b) { return exp(a * b) / a; }, in[0],
                      in[1]);
  };
  CHECK(gradcheck(f, {x, y}));
  CHECK(gradgradcheck(f, {x, y}));
  auto [p, q] = checkpoint([](const Tensor& a) { return std::pair(a * a, a.exp()); }, x);
  CHECK(grad({(p + q).sum()}, {x})[0].defined());
}

TEST_CASE("checkpoints nest, and replay random numbers", "[A16]") {
  Tensor x = variable({50}, 1);
  auto noisy = [](const Tensor& t) { return t * t * rand_like(t); };
  auto nested = [&](const Tensor& t) { return checkpoint(noisy, noisy(t)).exp(); };
  manual_seed(3);
  Tensor plain = noisy(noisy(x)).exp().sum();
  Values expected = grad({plain}, {x})[0].to_vector();
  manual_seed(3);
  Tensor y = checkpoint(nested, x).sum();
  Tensor after = rand({3});
  CHECK(y.item() == plain.item());
  CHECK(grad({y}, {x})[0].to_vector() == expected);
  // The generator stands where it stood.
  manual_seed(3);
  noisy(noisy(x));
  CHECK(rand({3}).to_vector() == after.to_vector());
}

TEST_CASE("a checkpoint whose block does not do the same again is an error", "[A16]") {
  Tensor x = variable({3}, 1);
  int run = 0;
  auto fewer = [&](const Tensor& t) { return run++ == 0 ? exp(t * t) : t * t; };
  CHECK_THROWS_WITH(checkpoint(fewer, x).sum().backward(),
                    ContainsSubstring("checkpoint") && ContainsSubstring("tensors"));
  run = 0;
  auto other = [&](const Tensor& t) { return run++ == 0 ? exp(t) : exp(t.slice(0, 0, 2)); };
  CHECK_THROWS_WITH(checkpoint(other, x).sum().backward(), ContainsSubstring("shape"));
  Tensor y = x * 1.0;
  Tensor z = checkpoint([](const Tensor& t) { return t * t; }, y).sum();
  y.add_(1.0);
  CHECK_THROWS_WITH(z.backward(), ContainsSubstring("in place"));
}

TEST_CASE("anomaly mode names the node of a NaN and where it was made", "[A14]") {
  Tensor x = leaf({0, 1});
  auto run = [&] { return (sqrt(x * 0.0) * 0.0).sum(); };
  run().backward();  // 0 · inf, unnoticed
  CHECK(std::isnan(x.grad().to_vector()[0]));
  AnomalyMode watch;
  CHECK_THROWS_AS(run().backward(), GradError);
  CHECK_THROWS_WITH(run().backward(), ContainsSubstring("SqrtBackward") && ContainsSubstring("\n"));
  CHECK_NOTHROW((x * x).sum().backward());
  Tensor unknown;
  {
    AnomalyMode only_places(false);
    CHECK_NOTHROW(run().backward());
  }
}

TEST_CASE("anomaly mode says so where it was off in the forward", "[A14]") {
  Tensor x = leaf({0}), y = (sqrt(x * 0.0) * 0.0).sum();
  AnomalyMode watch;
  CHECK_THROWS_WITH(y.backward(), ContainsSubstring("AnomalyMode was off"));
}

TEST_CASE("a hook of several tensors sees all their gradients at once", "[A10]") {
  Tensor x = leaf({1, 2}), y = leaf({3, 4}), z = leaf({5, 6});
  std::vector<Inputs> seen;
  RemovableHandle handle =
      register_multi_grad_hook({x, y, z}, [&](const Inputs& grads) { seen.push_back(grads); });
  (x * y * z).sum().backward();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0][0].to_vector() == Values{15, 24});
  CHECK(seen[0][2].to_vector() == Values{3, 8});
  (x * y).sum().backward();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1][0].defined());
  CHECK_FALSE(seen[1][2].defined());
  handle.remove();
  (x * y * z).sum().backward();
  CHECK(seen.size() == 2);

  int calls = 0;
  RemovableHandle any =
      register_any_grad_hook({x, y}, [&](const Tensor& g) { calls += g.defined(); });
  (x * y).sum().backward();
  CHECK(calls == 1);
  z.sum().backward();
  CHECK(calls == 1);
  any.remove();
  // What it throws reaches the caller of backward, at its end too.
  RemovableHandle bad =
      register_multi_grad_hook({x, z}, [](const Inputs&) { throw std::runtime_error("stop"); });
  CHECK_THROWS_WITH((x * x).sum().backward(), "stop");
  CHECK_THROWS_WITH((x * z).sum().backward(), "stop");
  bad.remove();
  CHECK_NOTHROW((x * z).sum().backward());
  CHECK_THROWS_AS(register_multi_grad_hook({}, [](const Inputs&) {}), ValueError);
  CHECK_THROWS_AS(register_any_grad_hook({x.detach()}, [](const Tensor&) {}), GradError);
}
