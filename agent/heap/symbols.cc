// SPDX-License-Identifier: Apache-2.0
#include "agent/heap/symbols.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "trace/format.h"
#include "trace/symbol_records.h"

namespace anttracks::core {
namespace {

constexpr int kMostInlined = 1000;
constexpr size_t kMostBuckets = 8;  // for a class
constexpr uint32_t kNoSite = trace::kSiteUnknown;

bool Contains(const std::vector<bool>& set, uint32_t id) { return id < set.size() && set[id]; }
void Add(std::vector<bool>* set, uint32_t id) {
  if (id >= set->size()) set->resize(std::max<size_t>(id + 1, set->size() * 2));
  (*set)[id] = true;
}

std::string_view Text(const char* text) { return text == nullptr ? std::string_view() : text; }

// What a visit of fields leaves behind.
struct FieldList {
  struct Field {
    std::string name, signature;
    uint32_t offset;
  };
  std::vector<Field> fields;
  bool failed = false;

  // Called from within the VM, which no exception may cross.
  static void Visit(void* context, const AntTracksField* field) noexcept {
    auto* const list = static_cast<FieldList*>(context);
    try {
      list->fields.push_back(
          {std::string(Text(field->name)), std::string(Text(field->signature)), field->offset});
    } catch (...) {
      list->failed = true;
    }
  }
};

// An older VM's interface ends before this query.
bool CanDescribeFields(const AntTracksVM& vm) {
  return vm.size >= offsetof(AntTracksVM, describe_fields) + sizeof vm.describe_fields &&
         vm.describe_fields != nullptr;
}

}  // namespace

template <class Describe>
bool Symbols::WithText(Describe&& describe) {
  if (text_.empty()) text_.resize(1024);
  for (int attempt = 0; attempt < 8; attempt++) {
    const int32_t wanted = describe(text_.data(), text_.size());
    if (wanted <= 0) return wanted == 0;
    text_.resize(std::max(static_cast<size_t>(wanted), text_.size() * 2));
  }
  return false;
}

trace::ByteBuffer* Symbols::Block() {
  if (blocks_.empty() || blocks_.back().size() > kBlockBytes) blocks_.emplace_back();
  pending_.store(true, std::memory_order_release);
  return &blocks_.back();
}

// 0: there is none left.
uint32_t Symbols::NextId(uint32_t* last) {
  if (*last < most_id_) return ++*last;
  exhausted_.store(true, std::memory_order_relaxed);
  return 0;
}

std::string Symbols::ExhaustedText() const {
  return "all " + std::to_string(most_id_) +
         " ids that a trace has for classes, pairs of site and class, or threads are used; begin a new trace";
}

Symbols::Class* Symbols::DefineClass(uint64_t klass) {
  if (const auto found = classes_.find(klass); found != classes_.end()) return &found->second;
  AntTracksClass described{};
  const auto describe = [&](char* text, size_t bytes) {
    described.size = sizeof described;
    return vm_.describe_class(klass, &described, text, bytes);
  };
  if (!WithText(describe)) return nullptr;
  trace::ClassSymbol symbol;
  if (const uint64_t super = described.super_klass; super != 0 && super != klass) {
    const Class* parent = DefineClass(super);
    symbol.super = parent == nullptr ? 0 : parent->id;
    if (!WithText(describe)) return nullptr;  // the text was overwritten
  }
  Class made;
  made.id = NextId(&last_class_);
  if (made.id == 0) return nullptr;
  symbol.id = made.id;
  symbol.name = Text(described.name);
  symbol.flags = (described.is_array ? trace::kClassArray : 0) |
                 (described.is_mirror ? trace::kClassVariableSize : 0) |
                 (described.is_hidden ? trace::kClassHidden : 0);
  symbol.loader = described.loader;
  symbol.loader_name = Text(described.loader_name);
  if (described.is_array) {
    symbol.array_header_bytes = described.array_header_bytes;
    symbol.log2_element_bytes = described.array_log2_element_bytes;
    made.shape = Shape::Array(described.array_header_bytes, described.array_log2_element_bytes);
  } else if (described.is_mirror) {
    made.shape = Shape::Variable();
  } else {
    symbol.bytes = described.instance_bytes;
    made.shape = Shape::Fixed(described.instance_bytes);
  }
  trace::AppendSymbol(Block(), symbol);
  counts_.classes++;
  if (!described.is_array) DefineFields(klass, made.id);
  return &classes_.emplace(klass, std::move(made)).first->second;
}

void Symbols::DefineFields(uint64_t klass, uint32_t id) {
  if (!CanDescribeFields(vm_)) return;
  FieldList list;
  vm_.describe_fields(klass, &list, &FieldList::Visit);
  if (list.failed) throw std::bad_alloc();
  std::sort(list.fields.begin(), list.fields.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::vector<trace::FieldSymbol> symbols;
  for (const auto& field : list.fields) symbols.push_back({field.name, field.signature, field.offset});
  trace::AppendSymbol(Block(), trace::FieldsSymbol{id, symbols});
}

bool Symbols::DefineMethod(uint32_t method) {
  if (Contains(methods_, method)) return true;
  AntTracksMethod described{};
  if (!WithText([&](char* text, size_t bytes) {
        described.size = sizeof described;
        return vm_.describe_method(method, &described, text, bytes);
      })) {
    return false;
  }
  trace::AppendSymbol(Block(), trace::MethodSymbol{method, Text(described.class_name), Text(described.name),
                                                   Text(described.signature), Text(described.source_file)});
  Add(&methods_, method);
  counts_.methods++;
  return true;
}

bool Symbols::AppendSite(uint32_t site, const AntTracksSite& described) {
  if (!DefineMethod(described.method)) return false;
  trace::SiteSymbol symbol;
  symbol.id = site;
  symbol.method = described.method;
  symbol.bci = described.bci;
  symbol.line = described.line;
  symbol.caller = described.caller >= trace::kFirstSite ? described.caller : 0;
  symbol.tier = described.tier;
  symbol.flags = described.flags;
  trace::AppendSymbol(Block(), symbol);
  Add(&sites_, site);
  counts_.sites++;
  return true;
}

// Callers first.
bool Symbols::DefineSite(uint32_t site) {
  if (site < trace::kFirstSite || Contains(sites_, site)) return true;
  std::vector<std::pair<uint32_t, AntTracksSite>> chain;
  for (uint32_t at = site; at >= trace::kFirstSite && !Contains(sites_, at);) {
    AntTracksSite described{};
    described.size = sizeof described;
    if (chain.size() > kMostInlined || vm_.describe_site(at, &described) != 0) return false;
    chain.emplace_back(at, described);
    at = described.caller;
  }
  for (size_t i = chain.size(); i-- > 0;) {
    if (!AppendSite(chain[i].first, chain[i].second)) return false;
  }
  return true;
}

Kind Symbols::Resolve(uint32_t site, uint64_t klass) {
  const std::lock_guard lock(mutex_);
  if (const Kind known = kinds_.Find(site, klass); known.id != 0) return known;
  Class* const owner = DefineClass(KlassAddress(klass));
  if (owner == nullptr) return Kind();
  uint32_t named = site;
  if (!DefineSite(site)) {
    named = kNoSite;
    counts_.unknown_sites++;
  }
  const Kind kind{NextId(&last_kind_), owner->shape};
  if (kind.id == 0) return Kind();
  trace::AppendSymbol(Block(), trace::KindSymbol{kind.id, named, owner->id});
  owner->sites.push_back(site);
  kinds_.Insert(site, klass, kind);
  counts_.kinds++;
  counts_.live_kinds++;
  return kind;
}

bool Symbols::DescribeThread(void* thread, AntTracksThread* out) {
  return WithText([&](char* text, size_t bytes) {
    out->size = sizeof *out;
    return vm_.describe_thread(thread, out, text, bytes);
  });
}

uint32_t Symbols::DefineThread(void* thread, std::string* name, uint64_t* java_id) {
  const std::lock_guard lock(mutex_);
  AntTracksThread described{};
  if (!DescribeThread(thread, &described)) described = AntTracksThread{};
  *name = Text(described.name);
  *java_id = described.java_id;
  const uint32_t id = NextId(&last_thread_);
  if (id == 0) return 0;
  trace::AppendSymbol(Block(), trace::ThreadSymbol{id, *name, described.java_id, described.os_id});
  counts_.threads++;
  return id;
}

void Symbols::RefreshThread(uint32_t id, void* thread, std::string* name, uint64_t* java_id) {
  const std::lock_guard lock(mutex_);
  AntTracksThread described{};
  if (!DescribeThread(thread, &described)) return;
  const std::string_view now = Text(described.name);
  if (described.java_id == 0 || now.empty()) return;
  if (now == *name && described.java_id == *java_id) return;
  trace::AppendSymbol(Block(), trace::ThreadSymbol{id, now, described.java_id, described.os_id});
  *name = now;
  *java_id = described.java_id;
}

uint64_t Symbols::Unload(uint64_t klass) {
  const std::lock_guard lock(mutex_);
  const auto found = classes_.find(klass);
  if (found == classes_.end()) return 0;
  const uint64_t id = found->second.id;
  for (const uint32_t site : found->second.sites) {
    kinds_.Remove(site, KlassValue(klass));
    layouts_.Remove(site, KlassValue(klass));
  }
  counts_.live_kinds -= found->second.sites.size();
  classes_.erase(found);
  return id;
}

void Symbols::Shrink() {
  const std::lock_guard lock(mutex_);
  kinds_.Shrink();
  if (classes_.bucket_count() > kMostBuckets * (classes_.size() + kMostBuckets)) classes_.rehash(0);
}

std::vector<trace::ByteBuffer> Symbols::Take() {
  std::vector<trace::ByteBuffer> taken;
  const std::lock_guard lock(mutex_);
  pending_.store(false, std::memory_order_release);
  taken.swap(blocks_);
  return taken;
}

SymbolCounts Symbols::counts() const {
  const std::lock_guard lock(mutex_);
  SymbolCounts counts = counts_;
  counts.table_bytes = kinds_.MemoryBytes() + classes_.bucket_count() * sizeof(void*) +
                       classes_.size() * (sizeof(Class) + 4 * sizeof(void*)) + counts_.live_kinds * sizeof(uint32_t) +
                       (sites_.capacity() + methods_.capacity()) / 8;
  return counts;
}

}  // namespace anttracks::core
