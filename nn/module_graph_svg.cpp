/// Drawing a ModuleGraph in layers: every edge leads downwards, through a place of its own in each
/// layer that it crosses. Layers are ordered such that neighbours are near each other (the mean of
/// their positions, swept down and up), then nodes move sideways towards their neighbours as far as
/// the layer lets them. After Sugiyama, Tagawa and Toda, Methods for visual understanding of
/// hierarchical system structures, 1981.

#include <algorithm>
#include <cmath>

#include <farro/backends/xml.hpp>
#include <farro/nn/module_graph.hpp>

namespace farro::nn {
namespace {

constexpr double kCharacter = 6.6;  // mean width at 12 pixels
constexpr double kLine = 16;
constexpr double kPadding = 10;
constexpr double kBetweenNodes = 24;
constexpr double kBetweenLayers = 44;
constexpr double kMargin = 16;
constexpr size_t kMaxCharacters = 44;

/// Breaks at spaces.
std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  size_t at = 0;
  while (at < text.size()) {
    size_t space = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, space - at);
    if (!line.empty() && line.size() + 1 + word.size() > kMaxCharacters)
      lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : " ") + word;
    at = space + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

/// A node of the graph, or the place of an edge in a layer that it crosses.
struct Place {
  size_t layer = 0;
  double x = 0, y = 0;  // of the middle
  double width = 0, height = 0;
  std::vector<std::string> lines;
  std::vector<size_t> above, below;
};

class Drawing {
 public:
  explicit Drawing(const ModuleGraph& graph) : graph_(graph) {
    measure();
    choose_layers();
    lead_edges();
    for (int sweep = 0; sweep < 8; ++sweep) order(sweep % 2 == 0);
    place();
  }

  std::string svg() const {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "role=\"img\" aria-label=\"{2}\">\n{3}<rect class=\"paper\" width=\"100%\" "
        "height=\"100%\"/>\n",
        width_, height_, escape_xml(graph_.name), kStyle);
    for (size_t i = 0; i < graph_.edges.size(); ++i) draw_edge(out, i);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) draw_node(out, i);
    return out + "</svg>\n";
  }

 private:
  static constexpr const char* kStyle = R"(<style>
  svg { --paper: #ffffff; --ink: #27272a; --faint: #71717a; --box: #f4f4f5; --leaf: #e0f2fe; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #18181b; --ink: #d4d4d8; --faint: #a1a1aa; --box: #27272a; --leaf: #0c3550; }
  }
  text { font: 12px system-ui, sans-serif; fill: #27272a; fill: var(--ink); text-anchor: middle; }
  .title { font-weight: 600; }
  .label { font-size: 10px; fill: #71717a; fill: var(--faint); text-anchor: start; paint-order: stroke; stroke: #ffffff; stroke: var(--paper); stroke-width: 4px; }
  .paper { fill: #ffffff; fill: var(--paper); }
  .box { fill: #f4f4f5; fill: var(--box); stroke: #71717a; stroke: var(--faint); }
  .trained { fill: #e0f2fe; fill: var(--leaf); }
  .edge { fill: none; stroke: #71717a; stroke: var(--faint); stroke-width: 1.2; }
  .head { fill: #71717a; fill: var(--faint); }
</style>
)";

  void measure() {
    for (const ModuleGraph::Node& node : graph_.nodes) {
      Place place;
      place.lines.push_back(node.path.empty() ? node.title : node.path + ": " + node.title);
      for (std::string& line : wrapped(node.detail)) place.lines.push_back(std::move(line));
      if (node.parameters > 0) place.lines.push_back(fmt::format("{} parameters", node.parameters));
      size_t longest = 0;
      for (const std::string& line : place.lines) longest = std::max(longest, line.size());
      place.width = static_cast<double>(longest) * kCharacter + 2 * kPadding;
      place.height = static_cast<double>(place.lines.size()) * kLine + kPadding;
      places_.push_back(std::move(place));
    }
  }

  /// Each node lies below all that lead to it. An edge that closes a cycle counts for nothing here.
  void choose_layers() {
    std::vector<std::vector<size_t>> out(graph_.nodes.size());
    for (size_t i = 0; i < graph_.edges.size(); ++i) out[graph_.edges[i].from].push_back(i);
    backwards_.assign(graph_.edges.size(), false);
    enum class State { New, Open, Done };
    std::vector<State> state(graph_.nodes.size(), State::New);
    std::vector<size_t> finished;
    for (size_t root = 0; root < graph_.nodes.size(); ++root) {
      std::vector<std::pair<size_t, size_t>> open;
      if (state[root] == State::New) open.emplace_back(root, 0);
      while (!open.empty()) {
        auto& [node, next] = open.back();
        state[node] = State::Open;
        if (next == out[node].size()) {
          state[node] = State::Done;
          finished.push_back(node);
          open.pop_back();
          continue;
        }
        size_t edge = out[node][next++], to = graph_.edges[edge].to;
        if (state[to] == State::Open) backwards_[edge] = true;
        if (state[to] == State::New) open.emplace_back(to, 0);
      }
    }
    for (auto it = finished.rbegin(); it != finished.rend(); ++it) {
      for (size_t edge : out[*it]) {
        if (backwards_[edge]) continue;
        size_t& layer = places_[graph_.edges[edge].to].layer;
        layer = std::max(layer, places_[*it].layer + 1);
      }
    }
  }

  /// Gives each edge a place in every layer that it crosses.
  void lead_edges() {
    for (size_t i = 0; i < graph_.edges.size(); ++i) {
      auto [from, to] = ends(i);
      std::vector<size_t> way{from};
      for (size_t layer = places_[from].layer + 1; layer < places_[to].layer; ++layer) {
        Place bend;
        bend.layer = layer;
        bend.width = 8;
        places_.push_back(std::move(bend));
        way.push_back(places_.size() - 1);
      }
      way.push_back(to);
      if (from != to) {
        for (size_t k = 0; k + 1 < way.size(); ++k) {
          places_[way[k]].below.push_back(way[k + 1]);
          places_[way[k + 1]].above.push_back(way[k]);
        }
      }
      ways_.push_back(std::move(way));
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      if (layers_.size() <= places_[i].layer) layers_.resize(places_[i].layer + 1);
      places_[i].x = static_cast<double>(layers_[places_[i].layer].size());
      layers_[places_[i].layer].push_back(i);
    }
  }

  /// The upper and the lower end.
  std::pair<size_t, size_t> ends(size_t edge) const {
    auto [from, to, label] = graph_.edges[edge];
    if (places_[from].layer > places_[to].layer) std::swap(from, to);
    return {from, to};
  }

  static double mean_of(const std::vector<Place>& places, const std::vector<size_t>& some,
                        double otherwise) {
    if (some.empty()) return otherwise;
    double sum = 0;
    for (size_t i : some) sum += places[i].x;
    return sum / static_cast<double>(some.size());
  }

  /// Sorts each layer by where the neighbours stand in the one before, downwards or upwards.
  void order(bool down) {
    for (size_t k = 0; k < layers_.size(); ++k) {
      std::vector<size_t>& layer = layers_[down ? k : layers_.size() - 1 - k];
      std::vector<std::pair<double, size_t>> wanted;
      for (size_t i : layer) {
        wanted.emplace_back(
            mean_of(places_, down ? places_[i].above : places_[i].below, places_[i].x), i);
      }
      std::ranges::stable_sort(wanted, {}, &std::pair<double, size_t>::first);
      for (size_t n = 0; n < layer.size(); ++n) {
        layer[n] = wanted[n].second;
        places_[layer[n]].x = static_cast<double>(n);
      }
    }
  }

  double distance(size_t left, size_t right) const {
    return (places_[left].width + places_[right].width) / 2 + kBetweenNodes;
  }

  void place() {
    double y = kMargin;
    for (const auto& layer : layers_) {
      double tallest = 0, x = 0;
      for (size_t i : layer) tallest = std::max(tallest, places_[i].height);
      for (size_t n = 0; n < layer.size(); ++n) {
        if (n > 0) x += distance(layer[n - 1], layer[n]);
        places_[layer[n]].x = x;
        places_[layer[n]].y = y + tallest / 2;
      }
      y += tallest + kBetweenLayers;
    }
    height_ = y - kBetweenLayers + kMargin;
    for (int sweep = 0; sweep < 24; ++sweep) {
      for (size_t k = 0; k < layers_.size(); ++k)
        pull(layers_[sweep % 2 == 0 ? k : layers_.size() - 1 - k]);
    }
    double left = 0, right = 0;
    bool first = true;
    for (const Place& p : places_) {
      left = first ? p.x - p.width / 2 : std::min(left, p.x - p.width / 2);
      right = first ? p.x + p.width / 2 : std::max(right, p.x + p.width / 2);
      first = false;
    }
    for (Place& p : places_) p.x += kMargin - left;
    width_ = right - left + 2 * kMargin + kLabelRoom;
  }

  /// Moves the nodes of a layer to the middle of their neighbours. Those that would overlap are
  /// moved as a block, to the mean of what they want.
  void pull(const std::vector<size_t>& layer) {
    struct Block {
      double start, sum;  // of the first node; of what its nodes want of the first
      std::vector<std::pair<size_t, double>> nodes;  // with their distances from the first
      double width() const { return nodes.back().second; }
    };
    std::vector<Block> blocks;
    for (size_t i : layer) {
      std::vector<size_t> neighbours = places_[i].above;
      neighbours.insert(neighbours.end(), places_[i].below.begin(), places_[i].below.end());
      double want = mean_of(places_, neighbours, places_[i].x);
      blocks.push_back({want, want, {{i, 0}}});
      while (blocks.size() > 1) {
        Block& b = blocks.back();
        Block& a = blocks[blocks.size() - 2];
        double gap = a.width() + distance(a.nodes.back().first, b.nodes.front().first);
        if (a.start + gap <= b.start) break;
        for (const auto& [node, at] : b.nodes) a.nodes.emplace_back(node, gap + at);
        a.sum += b.sum - gap * static_cast<double>(b.nodes.size());
        a.start = a.sum / static_cast<double>(a.nodes.size());
        blocks.pop_back();
      }
    }
    for (const Block& block : blocks) {
      for (const auto& [node, at] : block.nodes) places_[node].x = block.start + at;
    }
  }

  void draw_node(std::string& out, size_t i) const {
    const Place& p = places_[i];
    const ModuleGraph::Node& node = graph_.nodes[i];
    double top = p.y - p.height / 2;
    if (node.is_module) {
      out += fmt::format(
          "<rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "rx=\"6\"/>\n",
          node.parameters > 0 ? " trained" : "", p.x - p.width / 2, top, p.width, p.height);
    }
    for (size_t n = 0; n < p.lines.size(); ++n) {
      out += fmt::format(
          "<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", n == 0 ? " class=\"title\"" : "", p.x,
          top + kPadding / 2 + kLine * static_cast<double>(n) + 12, escape_xml(p.lines[n]));
    }
  }

  void draw_edge(std::string& out, size_t i) const {
    const std::vector<size_t>& way = ways_[i];
    const Place& last = places_[way.back()];
    double x = places_[way[0]].x, y = places_[way[0]].y + places_[way[0]].height / 2;
    if (way.front() == way.back()) return draw_loop(out, last);
    std::string path = fmt::format("M{:.1f} {:.1f}", x, y);
    double label_x = x, label_y = y;
    for (size_t k = 1; k < way.size(); ++k) {
      const Place& p = places_[way[k]];
      double end = p.y - p.height / 2 - (k + 1 == way.size() ? 6 : 0), middle = (y + end) / 2;
      path += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, middle, p.x, middle,
                          p.x, end);
      label_x = (x + p.x) / 2;
      label_y = middle;
      x = p.x;
      y = end;
    }
    out += fmt::format("<path class=\"edge\" d=\"{}\"/>\n", path);
    if (backwards_[i]) {  // leads upwards: the arrow is at the other end
      x = places_[way[0]].x;
      y = places_[way[0]].y + places_[way[0]].height / 2 + 6;
      out += fmt::format("<path class=\"head\" d=\"M{:.1f} {:.1f}l-4 7h8z\"/>\n", x, y - 6);
    } else {
      out += fmt::format("<path class=\"head\" d=\"M{:.1f} {:.1f}l-4 -7h8z\"/>\n", x, y + 6);
    }
    if (graph_.edges[i].label.empty()) return;
    out += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", label_x + 5,
                       label_y + 3, escape_xml(graph_.edges[i].label));
  }

  void draw_loop(std::string& out, const Place& p) const {
    double x = p.x + p.width / 2;
    out += fmt::format("<path class=\"edge\" d=\"M{0:.1f} {1:.1f}c16 -14 16 28 0 14\"/>\n", x,
                       p.y - 7);
  }

  static constexpr double kLabelRoom = 48;

  const ModuleGraph& graph_;
  std::vector<Place> places_;  // the nodes, then the bends of edges
  std::vector<std::vector<size_t>> layers_;
  std::vector<std::vector<size_t>> ways_;  // the places of each edge, from the upper end
  std::vector<bool> backwards_;
  double width_ = 0, height_ = 0;
};

}  // namespace

std::string ModuleGraph::svg() const { return Drawing(*this).svg(); }

}  // namespace farro::nn
