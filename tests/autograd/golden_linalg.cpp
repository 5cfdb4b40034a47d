#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/matmul.hpp>

namespace farro::test {

void add_linalg_ops(OpTable& t) {
  t.binary("matmul", matmul);
  t.binary("mm", mm);
  t.binary("bmm", bmm);
  t.binary("mv", mv);
  t.binary("dot", dot);
  t.binary("outer", outer);
  auto with_summand = [&](const std::string& name,
                          Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, AddmmOptions)) {
    t.add(name, [f](const Call& c) {
      return f(
          c.tensor(0), c.tensor(1), c.tensor(2),
          {.beta = c.number(Call::kNamed, "beta", 1), .alpha = c.number(Call::kNamed, "alpha", 1)});
    });
  };
  with_summand("addmm", addmm);
  with_summand("baddbmm", baddbmm);
  t.add("nn.functional.linear",
        [](const Call& c) { return linear(c.tensor(0), c.tensor(1), c.tensor(2, "bias")); });
}

}  // namespace farro::test
