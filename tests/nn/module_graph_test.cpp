#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>

#include <nn/events.hpp>
#include <nn/scenario_modules.hpp>
#include <farro/nn/layers/conv.hpp>
#include <farro/nn/layers/normalization.hpp>
#include <farro/nn/layers/pooling.hpp>
#include <farro/nn/module_graph.hpp>
#include <farro/nn/module_list.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nn::Ref;

/// Two ways that meet: x -> a -> b -> (+ x) -> c, and a function in between.
struct Residual : nn::Module {
  Ref<nn::Linear> a{{2, 2}};
  Ref<nn::ReLU> b{nn::ReLU()};
  Ref<nn::Linear> c{{2, 3}};
  FARRO_MEMBERS(Residual, a, b, c)
  Tensor forward(const Tensor& x) { return c(b(a(x)) * 2 + x); }
};
struct Loop : nn::Module {
  Ref<nn::Module> again;
  FARRO_MEMBERS(Loop, again)
};

std::vector<std::string> edges(const nn::ModuleGraph& graph) {
  std::vector<std::string> result;
  auto name = [&](size_t i) {
    const auto& node = graph.nodes[i];
    return node.path.empty() ? node.title : node.path;
  };
  for (const auto& edge : graph.edges) {
    result.push_back(name(edge.from) + " > " + name(edge.to) + " " + edge.label);
  }
  return result;
}

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("module graph: who contains whom") {
  Ref<nn::Tanh> shared{nn::Tanh()};
  nn::Sequential net({{"first", nn::Sequential(nn::Linear({2, 3}), shared)}, {"again", shared}});
  nn::ModuleGraph graph = nn::module_graph(net);
  CHECK(graph.nodes.size() == 4);
  CHECK(graph.nodes[2].parameters == 9);
  CHECK(edges(graph) == std::vector<std::string>{"Sequential > first first",
                                                 "Sequential > first.1 again", "first > first.0 0",
                                                 "first > first.1 1"});
  std::string dot = nn::to_dot(net);
  CHECK(dot ==
        "digraph \"Sequential\" {\n"
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\", fontsize=10];\n"
        "  n0 [label=\"Sequential\"];\n"
        "  n1 [label=\"first: Sequential\"];\n"
        "  n2 [label=\"first.0: Linear\\nin_features=2, out_features=3, bias=True\\n9 "
        "parameters\"];\n"
        "  n3 [label=\"first.1: Tanh\"];\n"
        "  n0 -> n1 [label=\"first\"];\n"
        "  n0 -> n3 [label=\"again\"];\n"
        "  n1 -> n2 [label=\"0\"];\n"
        "  n1 -> n3 [label=\"1\"];\n"
        "}\n");
}

TEST_CASE("module graph: what flows where") {
  Residual net;
  nn::ModuleGraph graph = nn::module_graph(net, {ones({4, 2})});
  CHECK(edges(graph) == std::vector<std::string>{"input > a [4, 2]", "a > b [4, 2]",
                                                 "input > c [4, 2]", "b > c [4, 2]",
                                                 "c > output [4, 3]"});
  CHECK(net.training());
  CHECK_FALSE(net.a->has_call_hooks());
  for (const Tensor& p : net.parameters()) CHECK_FALSE(p.grad().defined());

  nn::Sequential pair{Pair()};
  nn::ModuleGraph two = nn::module_graph(pair, {ones({1}), ones({1})});
  CHECK(two.nodes.size() == 5);
  CHECK(edges(two) == std::vector<std::string>{"0 > 0 [1]", "1 > 0 [1]", "0 > 0 [1]", "0 > 1 [1]"});
  // A module that is called twice is two nodes; one that returns its input passes it on.
  Ref<nn::Identity> same{nn::Identity()};
  nn::Sequential twice({{"x", same}, {"y", same}});
  nn::ModuleGraph chain = nn::module_graph(twice, {ones({1})});
  CHECK(chain.nodes.size() == 4);
  CHECK(chain.edges.size() == 3);
}

TEST_CASE("module graph: drawn") {
  nn::Sequential net(nn::Conv2d({.in_channels = 1, .out_channels = 4, .kernel_size = 3}),
                     nn::BatchNorm2d({4}), nn::ReLU(), nn::MaxPool2d({.kernel_size = 2}),
                     nn::Flatten(), nn::Linear({36, 10}));
  std::string svg = nn::to_svg(net, {ones({2, 1, 8, 8})});
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "class=\"box") == 6);
  CHECK(count(svg, "class=\"edge\"") == 7);
  CHECK_THAT(svg, ContainsSubstring("[2, 4, 6, 6]") && ContainsSubstring("0: Conv2d"));
  Residual residual;
  std::string branches = nn::to_svg(residual, {ones({4, 2})});
  CHECK(count(branches, "class=\"edge\"") == 5);
  CHECK(count(nn::to_svg(residual), "class=\"box") == 4);
  std::ofstream(FARRO_TEST_OUTPUT_DIR "/module_graph.svg") << svg;
  std::ofstream(FARRO_TEST_OUTPUT_DIR "/module_graph_branches.svg") << branches;
  std::ofstream(FARRO_TEST_OUTPUT_DIR "/module_graph_tree.svg") << nn::to_svg(residual);

  auto loop = nn::make<Loop>();
  loop->again = loop;
  CHECK(count(nn::to_svg(*loop), "class=\"edge\"") == 1);
  loop->again = nn::Sequential(loop);
  CHECK(count(nn::to_svg(*loop), "class=\"edge\"") == 2);
  loop->again = nullptr;
  CHECK(count(nn::to_svg(*loop), "class=\"edge\"") == 0);
  nn::ModuleGraph quoted{
      .name = "a\"b", .nodes = {{.title = "<T>", .path = "p\\q", .detail = ""}}, .edges = {}};
  CHECK_THAT(quoted.dot(), ContainsSubstring("\"a\\\"b\"") && ContainsSubstring("p\\\\q"));
  CHECK_THAT(quoted.svg(), ContainsSubstring("&lt;T&gt;"));
}

}  // namespace farro::test
