// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/references.h"

#include <algorithm>

namespace anttracks::hprof {

using trace::Status;

// Reads the heap's records a second time.
class References::Reader {
 public:
  Reader(const HprofReader& reader, const Dump& dump, References* out)
      : reader_(&reader), dump_(&dump), out_(out) {}

  Status operator()(const RootRecord& record) {
    const uint32_t object = dump_->Find(record.id);
    if (object == kNone) {
      out_->dangling_++;
    } else {
      out_->roots_.push_back({object, record.kind, record.thread, record.frame});
    }
    return {};
  }

  Status operator()(const ClassRecord& record) {
    Begin(record.id);
    for (size_t at = 0; at < record.statics.size();) {
      const Type type{record.statics[at + kIdBytes]};
      if (type == Type::kObject) Add(GetU8(&record.statics[at + kIdBytes + 1]));
      at += kIdBytes + 1 + TypeBytes(type);
    }
    Add(record.loader);
    return End(record.offset);
  }

  Status operator()(const InstanceRecord& record) {
    Begin(record.id);
    const DumpClass& its = dump_->class_of(object_);
    for (const uint32_t offset : its.references) Add(GetU8(record.values.data() + offset));
    if (its.referent != kNone) {
      const uint64_t id = GetU8(record.values.data() + its.referent);
      const uint32_t target = id == 0 ? kNone : dump_->Find(id);
      if (target != kNone) out_->referents_.emplace_back(object_, target);
    }
    return End(record.offset);
  }

  Status operator()(const ArrayRecord& record) {
    if (record.type != Type::kObject) return {};
    Begin(record.id);
    for (uint32_t i = 0; i < record.length; i++) Add(GetU8(record.elements + uint64_t{i} * kIdBytes));
    return End(record.offset);
  }

 private:
  void Begin(uint64_t id) {
    object_ = dump_->Find(id, object_ + 1);  // the JVM writes them in this order, mostly
    begin_ = out_->targets_.size();
  }
  void Add(uint64_t id) {
    if (id == 0) return;
    const uint32_t target = dump_->Find(id, near_);
    if (target == kNone) {
      out_->dangling_++;
      return;
    }
    near_ = target + 1;
    if (target != object_) out_->targets_.push_back(target);
  }
  Status End(uint64_t offset) {
    // With a class for each object, and the roots.
    if (out_->targets_.size() + 2ULL * out_->size() + out_->roots_.size() >= kNone)
      return reader_->Error(offset, "more references than the analyzer can number");
    out_->first_[object_] = static_cast<uint32_t>(begin_);
    out_->degree_[object_] = static_cast<uint32_t>(out_->targets_.size() - begin_);
    return {};
  }

  const HprofReader* reader_;
  const Dump* dump_;
  References* out_;
  uint32_t object_ = kNone, near_ = kNone;
  size_t begin_ = 0;
};

trace::Result<std::unique_ptr<References>> References::Read(const HprofReader& reader, const Dump& dump) {
  std::unique_ptr<References> references(new References(dump));
  references->first_.resize(dump.size());
  references->degree_.resize(dump.size());
  Reader visitor(reader, dump, references.get());
  Status status = reader.ForEach(visitor);
  if (!status.ok()) return status;
  references->Reach();
  references->ReachWeakly();
  return references;
}

// Breadth first. When nothing more is reached, those classes follow that only objects hold; and so on.
void References::Reach() {
  nearest_.assign(size(), kNone);
  held_.assign(dump_->classes().size(), false);
  std::vector<uint32_t> queue;
  for (const DumpRoot& root : roots_) {
    if (nearest_[root.object] != kNone) continue;
    nearest_[root.object] = kRoot;
    queue.push_back(root.object);
  }
  std::vector<uint32_t> holder(dump_->classes().size(), kNone);  // the first object of the class
  std::vector<uint32_t> fresh;  // classes whose first object was found at this level
  for (size_t next = 0, level = 0;;) {
    for (; next < queue.size(); next++) {
      const uint32_t object = queue[next];
      uint32_t& first = holder[dump_->objects()[object].class_index];
      if (first == kNone) {
        first = object;
        fresh.push_back(dump_->objects()[object].class_index);
      }
      for (uint32_t i = 0; i < degree_[object]; i++) {
        const uint32_t target = targets_[first_[object] + i];
        if (nearest_[target] != kNone) continue;
        nearest_[target] = object;
        queue.push_back(target);
      }
    }
    level = queue.size();
    std::sort(fresh.begin(), fresh.end());
    for (const uint32_t index : fresh) {
      const uint32_t mirror = dump_->classes()[index].mirror;
      if (mirror == kNone || nearest_[mirror] != kNone) continue;
      held_[index] = any_held_ = true;
      nearest_[mirror] = holder[index];
      queue.push_back(mirror);
    }
    fresh.clear();
    if (queue.size() == level) return;
  }
}

void References::ReachWeakly() {
  weakly_.assign(size(), false);
  std::sort(referents_.begin(), referents_.end());
  std::vector<uint32_t> stack;
  const auto reach = [&](uint32_t object) {
    if (reached(object) || weakly_[object]) return;
    weakly_[object] = true;
    stack.push_back(object);
  };
  for (const auto& [from, to] : referents_) {
    if (reached(from)) reach(to);
  }
  while (!stack.empty()) {
    const uint32_t object = stack.back();
    stack.pop_back();
    for (uint32_t i = 0; i < degree_[object]; i++) reach(targets_[first_[object] + i]);
    const auto first = std::lower_bound(referents_.begin(), referents_.end(), std::pair(object, uint32_t{0}));
    for (auto at = first; at != referents_.end() && at->first == object; ++at) reach(at->second);
  }
}

}  // namespace anttracks::hprof
