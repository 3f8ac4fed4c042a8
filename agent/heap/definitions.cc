// SPDX-License-Identifier: Apache-2.0
#include "agent/heap/definitions.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "trace/definition_records.h"
#include "trace/format.h"

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

// What a visit of fields has collected.
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
bool Definitions::WithText(Describe&& describe) {
  if (text_.empty()) text_.resize(1024);
  for (int attempt = 0; attempt < 8; attempt++) {
    const int32_t wanted = describe(text_.data(), text_.size());
    if (wanted <= 0) return wanted == 0;
    text_.resize(std::max(static_cast<size_t>(wanted), text_.size() * 2));
  }
  return false;
}

trace::ByteBuffer* Definitions::Block() {
  if (blocks_.empty() || blocks_.back().size() > kBlockBytes) blocks_.emplace_back();
  pending_.store(true, std::memory_order_release);
  return &blocks_.back();
}

// 0: there is none left.
uint32_t Definitions::NextId(uint32_t* last) {
  if (*last < most_id_) return ++*last;
  exhausted_.store(true, std::memory_order_relaxed);
  return 0;
}

uint32_t Definitions::NextSiteClassId() {
  // Without a limit where each pair has to have one id.
  const uint32_t at_once = keeps_layouts_ ? trace::kSiteClassMask : kFirstColumnIds;
  return NextId(last_column_id_ < std::min(at_once, most_id_) ? &last_column_id_ : &last_wide_id_);
}

std::string Definitions::ExhaustedText() const {
  return "all " + std::to_string(most_id_) +
         " ids that a trace has for classes, site-class pairs or threads are used; start a new trace";
}

Definitions::Class* Definitions::DefineClass(uint64_t klass) {
  if (const auto found = classes_.find(klass); found != classes_.end()) return &found->second;
  AntTracksClass described{};
  const auto describe = [&](char* text, size_t bytes) {
    described.size = sizeof described;
    return vm_.describe_class(klass, &described, text, bytes);
  };
  if (!WithText(describe)) return nullptr;
  trace::ClassDefinition definition;
  if (const uint64_t super = described.super_klass; super != 0 && super != klass) {
    const Class* parent = DefineClass(super);
    definition.super = parent == nullptr ? 0 : parent->id;
    if (!WithText(describe)) return nullptr;  // the text was overwritten
  }
  Class made;
  made.id = NextId(&last_class_);
  if (made.id == 0) return nullptr;
  definition.id = made.id;
  definition.name = Text(described.name);
  definition.flags = (described.is_array ? trace::kClassArray : 0) |
                     (described.is_mirror ? trace::kClassVariableSize : 0) |
                     (described.is_hidden ? trace::kClassHidden : 0);
  definition.loader = described.loader;
  definition.loader_name = Text(described.loader_name);
  if (described.is_array) {
    definition.array_header_bytes = described.array_header_bytes;
    definition.log2_element_bytes = described.array_log2_element_bytes;
    made.layout = ObjectLayout::Array(described.array_header_bytes, described.array_log2_element_bytes);
  } else if (described.is_mirror) {
    made.layout = ObjectLayout::Variable();
  } else {
    definition.bytes = described.instance_bytes;
    made.layout = ObjectLayout::Fixed(described.instance_bytes);
  }
  trace::AppendDefinition(Block(), definition);
  counts_.classes++;
  if (!described.is_array) DefineFields(klass, made.id);
  return &classes_.emplace(klass, std::move(made)).first->second;
}

void Definitions::DefineFields(uint64_t klass, uint32_t id) {
  if (!CanDescribeFields(vm_)) return;
  FieldList list;
  vm_.describe_fields(klass, &list, &FieldList::Visit);
  if (list.failed) throw std::bad_alloc();
  std::sort(list.fields.begin(), list.fields.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::vector<trace::FieldDefinition> definitions;
  for (const auto& field : list.fields) definitions.push_back({field.name, field.signature, field.offset});
  trace::AppendDefinition(Block(), trace::FieldsDefinition{id, definitions});
}

bool Definitions::DefineMethod(uint32_t method) {
  if (Contains(methods_, method)) return true;
  AntTracksMethod described{};
  if (!WithText([&](char* text, size_t bytes) {
        described.size = sizeof described;
        return vm_.describe_method(method, &described, text, bytes);
      })) {
    return false;
  }
  trace::AppendDefinition(Block(),
                          trace::MethodDefinition{method, Text(described.class_name), Text(described.name),
                                                  Text(described.signature), Text(described.source_file)});
  Add(&methods_, method);
  counts_.methods++;
  return true;
}

bool Definitions::AppendSite(uint32_t site, const AntTracksSite& described) {
  if (!DefineMethod(described.method)) return false;
  trace::SiteDefinition definition;
  definition.id = site;
  definition.method = described.method;
  definition.bci = described.bci;
  definition.line = described.line;
  definition.caller = described.caller >= trace::kFirstSite ? described.caller : 0;
  definition.tier = described.tier;
  definition.flags = described.flags;
  trace::AppendDefinition(Block(), definition);
  Add(&sites_, site);
  counts_.sites++;
  return true;
}

// Callers first.
bool Definitions::DefineSite(uint32_t site) {
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

// The site, defined; or none, if the VM does not know it.
uint32_t Definitions::NamedSite(uint32_t site) {
  if (DefineSite(site)) return site;
  counts_.unknown_sites++;
  return kNoSite;
}

void Definitions::DefineStack(uint32_t id, uint32_t caller, uint32_t site) {
  const std::lock_guard lock(mutex_);
  const uint32_t named = NamedSite(site);  // first, as it may begin another block
  trace::AppendDefinition(Block(), trace::StackDefinition{id, caller, named});
}

SiteClass Definitions::Resolve(uint32_t site, uint64_t klass) {
  const std::lock_guard lock(mutex_);
  if (const SiteClass known = site_classes_.Find(site, klass); known.id != 0) return known;
  Class* const owner = DefineClass(KlassAddress(klass));
  if (owner == nullptr) return SiteClass();
  const uint32_t named = NamedSite(site);
  const SiteClass site_class{NextSiteClassId(), owner->layout};
  if (site_class.id == 0) return SiteClass();
  trace::AppendDefinition(Block(), trace::SiteClassDefinition{site_class.id, named, owner->id});
  owner->sites.push_back(site);
  if (keeps_layouts_) pair_layouts_.emplace(site_class.id, owner->layout);
  site_classes_.Insert(site, klass, site_class);
  counts_.site_classes++;
  counts_.live_site_classes++;
  return site_class;
}

SiteClass Definitions::GiveColumnId(uint32_t site, uint64_t klass) {
  // Relaxed: whoever sees it late looks in vain.
  if (keeps_layouts_ || !column_ids_left_.load(std::memory_order_relaxed)) return SiteClass();
  const std::lock_guard lock(mutex_);
  const SiteClass known = site_classes_.Find(site, klass);
  if (known.id <= trace::kSiteClassMask) return known;
  const auto owner = classes_.find(KlassAddress(klass));
  if (owner == classes_.end()) return SiteClass();
  if (last_column_id_ >= std::min<uint32_t>(trace::kSiteClassMask, most_id_)) {
    column_ids_left_.store(false, std::memory_order_relaxed);
    return SiteClass();
  }
  const SiteClass site_class{++last_column_id_, known.layout};
  const uint32_t named = site < trace::kFirstSite || Contains(sites_, site) ? site : kNoSite;
  trace::AppendDefinition(Block(), trace::SiteClassDefinition{site_class.id, named, owner->second.id});
  site_classes_.Replace(site, klass, site_class);
  return site_class;
}

ObjectLayout Definitions::LayoutOf(uint32_t site_class) const {
  const std::lock_guard lock(mutex_);
  const auto found = pair_layouts_.find(site_class);
  return found == pair_layouts_.end() ? ObjectLayout() : found->second;
}

bool Definitions::DescribeThread(void* thread, AntTracksThread* out) {
  return WithText([&](char* text, size_t bytes) {
    out->size = sizeof *out;
    return vm_.describe_thread(thread, out, text, bytes);
  });
}

uint32_t Definitions::DefineThread(void* thread, std::string* name, uint64_t* java_id) {
  const std::lock_guard lock(mutex_);
  AntTracksThread described{};
  if (!DescribeThread(thread, &described)) described = AntTracksThread{};
  *name = Text(described.name);
  *java_id = described.java_id;
  const uint32_t id = NextId(&last_thread_);
  if (id == 0) return 0;
  trace::AppendDefinition(Block(), trace::ThreadDefinition{id, *name, described.java_id, described.os_id});
  counts_.threads++;
  return id;
}

void Definitions::RefreshThread(uint32_t id, void* thread, std::string* name, uint64_t* java_id) {
  const std::lock_guard lock(mutex_);
  AntTracksThread described{};
  if (!DescribeThread(thread, &described)) return;
  const std::string_view now = Text(described.name);
  if (described.java_id == 0 || now.empty()) return;
  if (now == *name && described.java_id == *java_id) return;
  trace::AppendDefinition(Block(), trace::ThreadDefinition{id, now, described.java_id, described.os_id});
  *name = now;
  *java_id = described.java_id;
}

uint64_t Definitions::Unload(uint64_t klass) {
  const std::lock_guard lock(mutex_);
  const auto found = classes_.find(klass);
  if (found == classes_.end()) return 0;
  const uint64_t id = found->second.id;
  for (const uint32_t site : found->second.sites) {
    if (keeps_layouts_) pair_layouts_.erase(site_classes_.Find(site, KlassValue(klass)).id);
    site_classes_.Remove(site, KlassValue(klass));
    layouts_.Remove(site, KlassValue(klass));
  }
  counts_.live_site_classes -= found->second.sites.size();
  classes_.erase(found);
  return id;
}

void Definitions::Shrink() {
  const std::lock_guard lock(mutex_);
  site_classes_.Shrink();
  if (classes_.bucket_count() > kMostBuckets * (classes_.size() + kMostBuckets)) classes_.rehash(0);
}

std::vector<trace::ByteBuffer> Definitions::Take() {
  std::vector<trace::ByteBuffer> taken;
  const std::lock_guard lock(mutex_);
  pending_.store(false, std::memory_order_release);
  taken.swap(blocks_);
  return taken;
}

DefinitionCounts Definitions::counts() const {
  const std::lock_guard lock(mutex_);
  DefinitionCounts counts = counts_;
  counts.table_bytes = site_classes_.MemoryBytes() + classes_.bucket_count() * sizeof(void*) +
                       classes_.size() * (sizeof(Class) + 4 * sizeof(void*)) +
                       pair_layouts_.size() * (sizeof(uint64_t) + 3 * sizeof(void*)) +
                       counts_.live_site_classes * sizeof(uint32_t) +
                       (sites_.capacity() + methods_.capacity()) / 8;
  return counts;
}

void Definitions::Count(CounterValues* values) const {
  const DefinitionCounts now = counts();
  values->threads = now.threads;
  values->site_classes = now.site_classes;
  values->sites = now.sites;
  values->unknown_sites = now.unknown_sites;
  values->methods = now.methods;
  values->classes = now.classes;
  values->live_site_classes = now.live_site_classes;
  values->table_bytes += now.table_bytes;
}

}  // namespace anttracks::core
