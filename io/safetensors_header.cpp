#include <farro/io/safetensors_header.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

namespace farro::io {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, kDTypeCount> kTypeNames = {
    {{"F32", kFloat32},
     {"F64", kFloat64},
     {"BF16", kBFloat16},
     {"F16", kFloat16},
     {"I64", kInt64},
     {"I32", kInt32},
     {"I16", kInt16},
     {"I8", kInt8},
     {"U8", kUInt8},
     {"BOOL", kBool}}};

std::string_view type_name(DType dtype) {
  for (const auto& [name, type] : kTypeNames) {
    if (type == dtype) return name;
  }
  return {};
}

/// The bytes of an entry; nothing when they, or a stride, do not fit 63 bits. Sizes of 0 count as 1
/// until the end, so that strides fit too.
std::optional<uint64_t> bytes_of(const SafetensorsEntry& entry) {
  unsigned __int128 product = size_of(entry.dtype);
  bool empty = false;
  for (int64_t size : entry.sizes) {
    empty |= size == 0;
    product *= static_cast<uint64_t>(std::max<int64_t>(size, 1));
    if (product > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
  }
  return empty ? 0 : static_cast<uint64_t>(product);
}

/// Takes the header's JSON event by event, so that hostile text can neither nest deeply nor hide a
/// key twice.
class HeaderReader {
 public:
  HeaderReader(uint64_t data_bytes, const std::string& source)
      : data_bytes_(data_bytes), source_(source) {}

  SafetensorsHeader finish();

  // The interface that nlohmann::json::sax_parse calls.
  bool null() { return wrong("null"); }
  bool boolean(bool) { return wrong("a boolean"); }
  bool number_integer(int64_t value) { return wrong(fmt::format("{}", value)); }
  bool number_unsigned(uint64_t value);
  bool number_float(double, const std::string& text) { return wrong(shown_name(text)); }
  bool string(std::string& text);
  bool binary(nlohmann::json::binary_t&) { return wrong("binary data"); }
  bool start_object(size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    bad("expected a header in JSON, got malformed text at its byte {}", position);
  }

 private:
  enum class Where { Start, Header, Value, Metadata, Info, Shape, Offsets };
  enum Field : unsigned { kNone = 0, kType = 1, kShape = 2, kOffsets = 4, kAllFields = 7 };

  template <class... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> text, Args&&... args) const {
    fail<FileError>("load_safetensors", "{}: {}", source_,
                    fmt::format(text, std::forward<Args>(args)...));
  }
  [[noreturn]] bool wrong(std::string_view got) const;
  SafetensorsEntry& entry() { return header_.entries.back(); }
  void check_entry();
  void check_names() const;
  void check_tiling() const;

  uint64_t data_bytes_;
  const std::string& source_;
  SafetensorsHeader header_;
  Where where_ = Where::Start;
  Field field_ = kNone;
  unsigned fields_ = 0;
  int offsets_ = 0;
  bool has_metadata_ = false;
  std::string key_;
};

bool HeaderReader::wrong(std::string_view got) const {
  switch (where_) {
    case Where::Start:
    case Where::Header:
      bad("expected an object as header, got {}", got);
    case Where::Value:
      bad("expected an object for {}, got {}", shown_name(key_), got);
    case Where::Metadata:
      bad("expected a string for {} in __metadata__, got {}", shown_name(key_), got);
    case Where::Info:
      bad("expected {} of {}, got {}",
          field_ == kType    ? "a string as dtype"
          : field_ == kShape ? "an array as shape"
                             : "an array as data_offsets",
          shown_name(header_.entries.back().name), got);
    case Where::Shape:
      bad("expected sizes from 0 to 2^63 - 1 in the shape of {}, got {}",
          shown_name(header_.entries.back().name), got);
    case Where::Offsets:
      bad("expected two integers as data_offsets of {}, got {}",
          shown_name(header_.entries.back().name), got);
  }
  bad("expected a header, got {}", got);
}

bool HeaderReader::number_unsigned(uint64_t value) {
  if (where_ == Where::Shape) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      wrong(fmt::format("{}", value));
    if (entry().sizes.size() == kMaxDims) {
      bad("expected at most {} dimensions for {}, got more", kMaxDims, shown_name(entry().name));
    }
    entry().sizes.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (where_ == Where::Offsets) {
    if (offsets_ == 2) wrong("a third one");
    (offsets_++ == 0 ? entry().begin : entry().end) = value;
    return true;
  }
  return wrong(fmt::format("{}", value));
}

bool HeaderReader::string(std::string& text) {
  if (where_ == Where::Metadata) {
    header_.metadata[key_] = std::move(text);
    return true;
  }
  if (where_ != Where::Info || field_ != kType) return wrong(shown_name(text));
  for (const auto& [name, type] : kTypeNames) {
    if (name == text) {
      entry().dtype = type;
      return true;
    }
  }
  bad("expected a dtype of F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL for {}, got {}",
      shown_name(entry().name), shown_name(text));
}

bool HeaderReader::start_object(size_t) {
  if (where_ == Where::Start) {
    where_ = Where::Header;
  } else if (where_ == Where::Value && key_ == "__metadata__") {
    if (std::exchange(has_metadata_, true)) bad("expected each name once, got __metadata__ twice");
    where_ = Where::Metadata;
  } else if (where_ == Where::Value) {
    header_.entries.push_back({.name = key_, .sizes = {}});
    fields_ = 0;
    field_ = kNone;
    where_ = Where::Info;
  } else {
    wrong("an object");
  }
  return true;
}

bool HeaderReader::key(std::string& name) {
  if (where_ == Where::Header) {
    where_ = Where::Value;
  } else if (where_ == Where::Metadata) {
    if (header_.metadata.contains(name))
      bad("expected each name once, got {} twice in __metadata__", shown_name(name));
  } else {
    field_ = name == "dtype"          ? kType
             : name == "shape"        ? kShape
             : name == "data_offsets" ? kOffsets
                                      : kNone;
    if (field_ == kNone) {
      bad("expected dtype, shape and data_offsets for {}, got {}", shown_name(entry().name),
          shown_name(name));
    }
    if (fields_ & field_)
      bad("expected each name once, got {} twice for {}", name, shown_name(entry().name));
    fields_ |= field_;
  }
  key_ = std::move(name);
  return true;
}

bool HeaderReader::end_object() {
  if (where_ == Where::Info) check_entry();
  where_ = Where::Header;
  return true;
}

bool HeaderReader::start_array(size_t) {
  if (where_ != Where::Info || field_ == kType) wrong("an array");
  where_ = field_ == kShape ? Where::Shape : Where::Offsets;
  offsets_ = 0;
  return true;
}

bool HeaderReader::end_array() {
  if (where_ == Where::Offsets && offsets_ != 2) wrong(fmt::format("{}", offsets_));
  where_ = Where::Info;
  return true;
}

void HeaderReader::check_entry() {
  const SafetensorsEntry& e = entry();
  if (fields_ != kAllFields) {
    bad("expected dtype, shape and data_offsets for {}, got no {}", shown_name(e.name),
        !(fields_ & kType)    ? "dtype"
        : !(fields_ & kShape) ? "shape"
                              : "data_offsets");
  }
  if (e.begin > e.end || e.end > data_bytes_) {
    bad("expected data_offsets of {} within the {} bytes of data, got [{}, {}]", shown_name(e.name),
        data_bytes_, e.begin, e.end);
  }
  std::optional<uint64_t> bytes = bytes_of(e);
  if (!bytes)
    bad("expected a size below 2^63 bytes for {}, got shape {}", shown_name(e.name),
        to_string(e.sizes));
  if (*bytes != e.end - e.begin) {
    bad("expected {} bytes for {} ({} of shape {}), got {}", *bytes, shown_name(e.name),
        type_name(e.dtype), to_string(e.sizes), e.end - e.begin);
  }
}

void HeaderReader::check_names() const {
  std::vector<std::string_view> names;
  names.reserve(header_.entries.size());
  for (const SafetensorsEntry& e : header_.entries) names.push_back(e.name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) bad("expected each name once, got {} twice", shown_name(*twice));
}

void HeaderReader::check_tiling() const {
  std::vector<const SafetensorsEntry*> order;
  order.reserve(header_.entries.size());
  for (const SafetensorsEntry& e : header_.entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t covered = 0;
  for (const SafetensorsEntry* e : order) {
    if (e->begin != covered) {
      bad("expected tensors that follow each other without {}, got {} at {} instead of {}",
          e->begin > covered ? "gaps" : "overlaps", shown_name(e->name), e->begin, covered);
    }
    covered = e->end;
  }
  if (covered != data_bytes_) bad("expected {} bytes of data, got {}", covered, data_bytes_);
}

SafetensorsHeader HeaderReader::finish() {
  check_names();
  check_tiling();
  return std::move(header_);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& source) {
  HeaderReader reader(data_bytes, source);
  if (!json.starts_with('{')) {
    fail<FileError>("load_safetensors", "{}: expected a header that begins with '{{', got {}",
                    source, shown_name(json.substr(0, 8)));
  }
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return reader.finish();
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  auto escape = [](const std::string& text) {
    try {
      return nlohmann::json(text).dump();
    } catch (const nlohmann::json::exception&) {
      fail<ValueError>("save_safetensors", "expected names and metadata in UTF-8, got {}",
                       shown_name(text));
    }
  };
  std::string json = "{";
  if (!header.metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [name, text] : header.metadata)
      json += escape(name) + ":" + escape(text) + ",";
    json.back() = '}';
    json += ",";
  }
  for (const SafetensorsEntry& e : header.entries) {
    json += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[", escape(e.name), type_name(e.dtype));
    for (int i = 0; i < e.sizes.size(); ++i) json += fmt::format("{}{}", i ? "," : "", e.sizes[i]);
    json += fmt::format("],\"data_offsets\":[{},{}]}},", e.begin, e.end);
  }
  if (json.back() == ',') json.pop_back();
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  return json;
}

std::string shown_name(std::string_view name) {
  constexpr size_t kShown = 80;
  std::string text = "'";
  for (char c : name.substr(0, kShown)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text + (name.size() > kShown ? "…'" : "'");
}

}  // namespace farro::io
