#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/pointwise.hpp>

namespace farro::test {
namespace {

void add_unary(OpTable& t) {
  t.unary("abs", abs);
  t.unary("acos", acos);
  t.unary("acosh", acosh);
  t.unary("asin", asin);
  t.unary("asinh", asinh);
  t.unary("atan", atan);
  t.unary("atanh", atanh);
  t.unary("bitwise_not", bitwise_not);
  t.unary("ceil", ceil);
  t.unary("cos", cos);
  t.unary("cosh", cosh);
  t.unary("digamma", digamma);
  t.unary("erf", erf);
  t.unary("erfc", erfc);
  t.unary("erfinv", erfinv);
  t.unary("exp", exp);
  t.unary("exp2", exp2);
  t.unary("expm1", expm1);
  t.unary("floor", floor);
  t.unary("frac", frac);
  t.unary("isfinite", isfinite);
  t.unary("isinf", isinf);
  t.unary("isnan", isnan);
  t.unary("lgamma", lgamma);
  t.unary("log", log);
  t.unary("log10", log10);
  t.unary("log1p", log1p);
  t.unary("log2", log2);
  t.unary("logical_not", logical_not);
  t.unary("neg", neg);
  t.unary("rad2deg", rad2deg);
  t.unary("deg2rad", deg2rad);
  t.unary("reciprocal", reciprocal);
  t.unary("rsqrt", rsqrt);
  t.unary("sigmoid", sigmoid);
  t.unary("sign", sign);
  t.unary("sin", sin);
  t.unary("sinc", sinc);
  t.unary("sinh", sinh);
  t.unary("sqrt", sqrt);
  t.unary("square", square);
  t.unary("tan", tan);
  t.unary("tanh", tanh);
  t.unary("trunc", trunc);
  t.add("polygamma",
        [](const Call& c) { return polygamma(static_cast<int>(c.integer(1)), c.tensor(0)); });
  t.add("logit", [](const Call& c) { return logit(c.tensor(0), c.optional_number(1, "eps")); });
  t.add("round", [](const Call& c) {
    return round(c.tensor(0), static_cast<int>(c.integer(1, "decimals", 0)));
  });
  t.add("nan_to_num", [](const Call& c) {
    return nan_to_num(c.tensor(0), c.number(1, "nan", 0), c.optional_number(2, "posinf"),
                      c.optional_number(3, "neginf"));
  });
}

void add_binary(OpTable& t) {
  t.binary("atan2", atan2);
  t.binary("bitwise_and", bitwise_and);
  t.binary("bitwise_or", bitwise_or);
  t.binary("bitwise_xor", bitwise_xor);
  t.binary("copysign", copysign);
  t.binary("eq", eq);
  t.binary("floor_divide", floor_divide);
  t.binary("fmax", fmax);
  t.binary("fmin", fmin);
  t.binary("fmod", fmod);
  t.binary("ge", ge);
  t.binary("gt", gt);
  t.binary("heaviside", heaviside);
  t.binary("hypot", hypot);
  t.binary("le", le);
  t.binary("logaddexp", logaddexp);
  t.binary("logaddexp2", logaddexp2);
  t.binary("logical_and", logical_and);
  t.binary("logical_or", logical_or);
  t.binary("logical_xor", logical_xor);
  t.binary("lt", lt);
  t.binary("maximum", maximum);
  t.binary("minimum", minimum);
  t.binary("mul", mul);
  t.binary("ne", ne);
  t.binary("pow", pow);
  t.binary("remainder", remainder);
  t.binary("true_divide", true_divide);
  t.binary("xlogy", xlogy);
  auto scaled = [&](const std::string& name, Tensor (*f)(const Tensor&, const Tensor&, double)) {
    t.add(name, [f](const Call& c) {
      return f(c.tensor(0), c.tensor(1, "other"), c.number(2, "alpha", 1));
    });
  };
  scaled("add", add);
  scaled("sub", sub);
  scaled("rsub", rsub);
  t.add("div", [](const Call& c) {
    std::string mode = c.text(2, "rounding_mode", "");
    return mode.empty() ? div(c.tensor(0), c.tensor(1)) : div(c.tensor(0), c.tensor(1), mode);
  });
}

void add_ternary(OpTable& t) {
  t.add("isclose", [](const Call& c) {
    return isclose(c.tensor(0), c.tensor(1), c.number(2, "rtol", 1e-5), c.number(3, "atol", 1e-8),
                   c.flag(4, "equal_nan", false));
  });
  t.add("addcmul", [](const Call& c) {
    return addcmul(c.tensor(0), c.tensor(1), c.tensor(2), c.number(3, "value", 1));
  });
  t.add("addcdiv", [](const Call& c) {
    return addcdiv(c.tensor(0), c.tensor(1), c.tensor(2), c.number(3, "value", 1));
  });
  t.add("lerp", [](const Call& c) { return lerp(c.tensor(0), c.tensor(1), c.tensor(2)); });
  t.add("where", [](const Call& c) { return where(c.tensor(1), c.tensor(0), c.tensor(2)); });
  t.add("clamp",
        [](const Call& c) { return clamp(c.tensor(0), c.tensor(1, "min"), c.tensor(2, "max")); });
  t.add("clamp_min", [](const Call& c) { return clamp(c.tensor(0), c.tensor(1), Tensor()); });
  t.add("clamp_max", [](const Call& c) { return clamp(c.tensor(0), Tensor(), c.tensor(1)); });
}

void add_activations(OpTable& t) {
  t.unary("nn.functional.hardsigmoid", hardsigmoid);
  t.unary("nn.functional.hardswish", hardswish);
  t.unary("nn.functional.logsigmoid", log_sigmoid);
  t.unary("nn.functional.mish", mish);
  t.unary("nn.functional.relu", relu);
  t.unary("nn.functional.relu6", relu6);
  t.unary("nn.functional.selu", selu);
  t.unary("nn.functional.silu", silu);
  t.unary("nn.functional.softsign", softsign);
  t.unary("nn.functional.tanhshrink", tanhshrink);
  auto with_number = [&](const std::string& name, const char* argument, double fallback,
                         Tensor (*f)(const Tensor&, double)) {
    t.add("nn.functional." + name,
          [=](const Call& c) { return f(c.tensor(0), c.number(1, argument, fallback)); });
  };
  with_number("celu", "alpha", 1, celu);
  with_number("elu", "alpha", 1, elu);
  with_number("hardshrink", "lambd", 0.5, hardshrink);
  with_number("leaky_relu", "negative_slope", 0.01, leaky_relu);
  with_number("softshrink", "lambd", 0.5, softshrink);
  t.add("nn.functional.gelu",
        [](const Call& c) { return gelu(c.tensor(0), c.text(1, "approximate", "none")); });
  t.add("nn.functional.hardtanh", [](const Call& c) {
    return hardtanh(c.tensor(0), c.number(1, "min_val", -1), c.number(2, "max_val", 1));
  });
  t.add("nn.functional.prelu",
        [](const Call& c) { return prelu(c.tensor(0), c.tensor(1, "weight")); });
  t.add("nn.functional.softplus", [](const Call& c) {
    return softplus(c.tensor(0), c.number(1, "beta", 1), c.number(2, "threshold", 20));
  });
  t.add("nn.functional.threshold",
        [](const Call& c) { return threshold(c.tensor(0), c.number(1), c.number(2)); });
}

}  // namespace

void add_pointwise_ops(OpTable& table) {
  add_unary(table);
  add_binary(table);
  add_ternary(table);
  add_activations(table);
}

}  // namespace farro::test
