/// state_dict and load_state_dict. Loading goes over the tree once and notes what would be copied
/// where, what is missing, unexpected or of the wrong size. Only then is anything changed: without
/// load hooks, if there is nothing to complain of; with them, the tensors are copied, the hooks
/// run, and if the outcome is an error what was copied over is put back.

#include <algorithm>
#include <unordered_map>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {

using Kind = Member::Kind;

namespace {

constexpr const char* kExtraState = "_extra_state";

/// The path that a prefix belongs to: "layers.0." is of "layers.0".
std::string path_of(const std::string& prefix) {
  return prefix.empty() ? prefix : prefix.substr(0, prefix.size() - 1);
}

/// What a module saves itself, in order: parameters, then persistent buffers. Nulls are left out.
std::vector<Member> saved_members(Module& module) {
  std::vector<Member> members;
  for (Kind kind : {Kind::Parameter, Kind::Buffer}) {
    module.visit_members([&](const Member& member) {
      if (member.kind != kind || !member.tensor().defined()) return;
      if (kind == Kind::Buffer && !member.buffer().persistent()) return;
      members.push_back(member);
    });
  }
  return members;
}

/// All children with their names, one that stands twice as well; null for null.
Named<Module*> all_children(Module& module) {
  Named<Module*> children;
  module.visit_members([&](const Member& member) {
    if (member.kind == Kind::Child) children.emplace_back(member.name, member.child());
  });
  return children;
}

}  // namespace

class StateSaver {
 public:
  explicit StateSaver(bool keep_vars) : keep_vars_(keep_vars) {}

  void save(Module& module, const std::string& prefix) {
    if (std::ranges::count(above_, &module) > 0) return;
    above_.push_back(&module);
    const hooks::ModuleHooks* own = module.hooks_.get();
    if (own) {
      for (const auto& hook : own->state_dict_pre.snapshot()) hook(module, prefix, keep_vars_);
    }
    state.versions[path_of(prefix)] = module.state_version();
    for (const Member& member : saved_members(module)) {
      state.append(prefix + std::string(member.name),
                   keep_vars_ ? member.tensor() : member.tensor().detach());
    }
    if (auto extra = module.get_extra_state()) state.append(prefix + kExtraState, *extra);
    for (const auto& [name, child] : all_children(module)) {
      if (child) save(*child, prefix + name + ".");
    }
    if (own) {
      for (const auto& hook : own->state_dict.snapshot())
        hook(module, state, prefix, state.versions);
    }
    above_.pop_back();
  }

  StateDict state;

 private:
  bool keep_vars_;
  std::vector<Module*> above_;
};

class StateLoader {
 public:
  StateLoader(Module& root, const LoadOptions& options) : root_(root), options_(options) {}

  LoadResult load(const StateDict& state) {
    visit(root_, state, "");
    if (post_.empty() || !errors_.empty()) {
      for (const PostHooks& post : post_) run(post);
      result_with_rest();
      check();
      commit();
      tell_modules();
      return std::move(result_);
    }
    Backup backup(*this);
    commit();
    for (const PostHooks& post : post_) run(post);
    result_with_rest();
    check();
    backup.forget();
    tell_modules();
    return std::move(result_);
  }

 private:
  struct Copy {
    Member member;
    Tensor source;
  };
  struct Extra {
    Module* module;
    Tensor state;
  };
  /// A module whose hooks are to run, with how many complaints there were when its turn was over.
  struct PostHooks {
    Module* module;
    size_t missing, unexpected;
  };

  /// Puts everything back as it was unless it is told to forget it.
  class Backup {
   public:
    explicit Backup(const StateLoader& loader) {
      NoGrad guard;
      for (Module* module : loader.root_.modules()) {
        module->visit_members([&](const Member& member) {
          if (is_state(member)) slots_.emplace_back(member, member.tensor());
        });
      }
      if (loader.options_.assign) return;
      for (const Copy& copy : loader.copies_) {
        const Tensor& tensor = copy.member.tensor();
        elements_.emplace_back(tensor, is_uninitialized(tensor)
                                           ? detail::uninitialized(tensor.device(), tensor.dtype())
                                           : tensor.clone());
      }
    }
    ~Backup() {
      if (forgotten_) return;
      NoGrad guard;
      for (auto& [member, tensor] : slots_) put(member, tensor);
      for (auto& [tensor, elements] : elements_) {
        if (is_uninitialized(elements)) {
          detail::take_data(tensor, elements);
        } else {
          tensor.copy_(elements);
        }
      }
    }
    void forget() { forgotten_ = true; }

   private:
    std::vector<std::pair<Member, Tensor>> slots_;
    std::vector<std::pair<Tensor, Tensor>> elements_;
    bool forgotten_ = false;
  };

  void visit(Module& module, StateDict local, const std::string& prefix) {
    if (std::ranges::count(above_, &module) > 0) return;
    above_.push_back(&module);
    std::optional<int64_t> version;
    if (auto it = local.versions.find(path_of(prefix)); it != local.versions.end())
      version = it->second;
    if (module.hooks_) {
      for (const auto& hook : module.hooks_->load_pre.snapshot()) {
        hook(module, local, prefix, local.versions, options_.strict, missing_, unexpected_,
             errors_);
      }
    }
    module.upgrade_state(local, prefix, version);
    std::vector<Member> members = saved_members(module);
    for (const Member& member : members) match(member, local, prefix);
    bool has_extra = module.get_extra_state().has_value();
    if (has_extra) match_extra(module, local, prefix);
    Named<Module*> children = all_children(module);
    note_unexpected(local, prefix, members, has_extra, children);
    for (const auto& [name, child] : children) {
      if (child) visit(*child, below(local, prefix + name + "."), prefix + name + ".");
    }
    if (module.hooks_ && !module.hooks_->load.empty()) {
      post_.push_back({&module, missing_.size(), unexpected_.size()});
    }
    above_.pop_back();
  }

  static StateDict below(const StateDict& state, const std::string& prefix) {
    StateDict part;
    part.versions = state.versions;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(prefix)) part.append(name, tensor);
    }
    return part;
  }

  void match(const Member& member, const StateDict& local, const std::string& prefix) {
    std::string key = prefix + std::string(member.name);
    const Tensor* source = local.find(key);
    if (!source) {
      missing_.push_back(std::move(key));
      return;
    }
    if (is_uninitialized(*source) && !is_uninitialized(member.tensor())) {
      errors_.push_back(
          fmt::format("{}: expected shape {}, got an uninitialized tensor of a lazy module", key,
                      to_string(member.tensor().sizes())));
      return;
    }
    if (is_uninitialized(member.tensor())) {
      if (!is_uninitialized(*source)) copies_.push_back({member, *source});
      return;
    }
    const Dims& wanted = member.tensor().sizes();
    bool scalar_from_one = wanted.empty() && source->sizes() == Dims{1};
    if (source->sizes() != wanted && !scalar_from_one) {
      errors_.push_back(fmt::format("size mismatch for {}: expected {}, got {}", key,
                                    to_string(wanted), to_string(source->sizes())));
      return;
    }
    copies_.push_back({member, scalar_from_one ? source->detach().reshape({}) : *source});
  }

  void match_extra(Module& module, const StateDict& local, const std::string& prefix) {
    if (const Tensor* state = local.find(prefix + kExtraState)) {
      extras_.push_back({&module, *state});
    } else {
      missing_.push_back(prefix + kExtraState);
    }
  }

  /// Entries under the prefix that neither this module nor a child takes.
  void note_unexpected(const StateDict& local, const std::string& prefix,
                       const std::vector<Member>& members, bool has_extra,
                       const Named<Module*>& children) {
    for (const auto& [key, tensor] : local) {
      if (!key.starts_with(prefix)) continue;
      std::string_view rest = std::string_view(key).substr(prefix.size());
      std::string_view step = rest.substr(0, rest.find('.'));
      bool known;
      if (step.size() == rest.size()) {
        known = std::ranges::count(members, rest, &Member::name) > 0 ||
                (has_extra && rest == kExtraState);
      } else {
        known = std::ranges::any_of(
            children, [&](const auto& child) { return child.first == step && child.second; });
      }
      if (!known) unexpected_.push_back(key);
    }
  }

  /// Lets a module's hooks see the complaints up to its turn.
  void run(const PostHooks& post) {
    feed(post.missing, post.unexpected);
    for (const auto& hook : post.module->hooks_->load.snapshot()) hook(*post.module, result_);
  }
  void feed(size_t missing, size_t unexpected) {
    for (; fed_missing_ < missing; ++fed_missing_)
      result_.missing_keys.push_back(missing_[fed_missing_]);
    for (; fed_unexpected_ < unexpected; ++fed_unexpected_) {
      result_.unexpected_keys.push_back(unexpected_[fed_unexpected_]);
    }
  }
  void result_with_rest() { feed(missing_.size(), unexpected_.size()); }

  void check() const {
    bool keys =
        options_.strict && !(result_.missing_keys.empty() && result_.unexpected_keys.empty());
    if (!keys && errors_.empty()) return;
    std::string text = fmt::format("expected the state of a {}, got one with", root_.class_name());
    if (options_.strict) {
      append(text, "missing keys", result_.missing_keys);
      append(text, "unexpected keys", result_.unexpected_keys);
    }
    append(text, "errors", errors_);
    if (errors_.empty()) fail<KeyError>("load_state_dict", "{}", text);
    fail<ShapeError>("load_state_dict", "{}", text);
  }
  static void append(std::string& text, const char* title,
                     const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    text += fmt::format("\n  {}: ", title);
    for (size_t i = 0; i < entries.size(); ++i) text += (i ? ", " : "") + entries[i];
  }

  void commit() {
    NoGrad guard;
    if (options_.assign) {
      assign();
    } else {
      for (const Copy& copy : copies_) {
        const Tensor& tensor = copy.member.tensor();
        if (is_uninitialized(tensor)) materialize(tensor, copy.source.sizes());
        tensor.copy_(copy.source);
      }
    }
    for (const Extra& extra : extras_) extra.module->set_extra_state(extra.state);
  }

  void tell_modules() {
    for (Module* module : root_.modules()) module->state_loaded();
  }

  /// Adopts the given tensors; whatever was tied to a replaced one is tied to its successor.
  void assign() {
    std::unordered_map<TensorImpl*, Tensor> successors;
    for (const Copy& copy : copies_) {
      const Tensor& old = copy.member.tensor();
      bool parameter = copy.member.kind == Kind::Parameter;
      successors.try_emplace(old.impl(), parameter
                                             ? Parameter(copy.source.detach(), old.requires_grad())
                                             : copy.source.detach());
      replaced_.push_back(
          old);  // keeps the old ones, and with them their addresses, until all are replaced
    }
    for (Module* module : root_.modules()) {
      module->visit_members([&](const Member& member) {
        if (!is_state(member)) return;
        auto it = successors.find(member.tensor().impl());
        if (it != successors.end()) put(member, it->second);
      });
    }
  }
  static bool is_state(const Member& member) {
    return member.kind == Kind::Parameter || member.kind == Kind::Buffer;
  }
  static void put(const Member& member, const Tensor& tensor) {
    if (member.kind == Kind::Parameter) {
      member.parameter() = Parameter::of(tensor);
    } else {
      member.buffer() = tensor;
    }
  }

  Module& root_;
  LoadOptions options_;
  std::vector<Module*> above_;
  std::vector<Copy> copies_;
  std::vector<Extra> extras_;
  std::vector<PostHooks> post_;
  std::vector<std::string> missing_, unexpected_, errors_;
  size_t fed_missing_ = 0, fed_unexpected_ = 0;
  LoadResult result_;
  std::vector<Tensor> replaced_;
};

StateDict Module::state_dict(const StateDictOptions& options) {
  StateSaver saver(options.keep_vars);
  saver.save(*this, options.prefix);
  return std::move(saver.state);
}

LoadResult Module::load_state_dict(const StateDict& state, const LoadOptions& options) {
  return StateLoader(*this, options).load(state);
}

}  // namespace farro::nn
