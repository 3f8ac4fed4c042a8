// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/fault_script.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "agent/io/rotation/rotating_trace.h"
#include "agent/io/trace_file.h"
#include "tests/unit/agent/fault_injection.h"
#include "trace/file_writer.h"

namespace anttracks::core {
namespace {

constexpr size_t kHeapBytes = 256 << 10;
constexpr uint64_t kPlugin = FakeVm::kBase + 0x800;
constexpr int kObjectsOfTlab = 14, kThreads = 3, kFullEvery = 4;

// The heap's place is not known before there is one.
std::string MetaOf(const FakeVm& vm) {
  return "{\"object_alignment\":8,\"heap_start\":" + std::to_string(vm.heap()) +
         ",\"heap_end\":" + std::to_string(vm.heap_end()) + "}";
}

// The VM is outside the agent.
int32_t (*describe_class)(uint64_t, AntTracksClass*, char*, size_t);
int32_t (*describe_site)(uint32_t, AntTracksSite*);
int32_t (*describe_method)(uint32_t, AntTracksMethod*, char*, size_t);
int32_t (*describe_thread)(void*, AntTracksThread*, char*, size_t);
int32_t (*describe_fields)(uint64_t, void*, void (*)(void*, const AntTracksField*));

void PutOutside(AntTracksVM& vm) {
  describe_class = vm.describe_class;
  describe_site = vm.describe_site;
  describe_method = vm.describe_method;
  describe_thread = vm.describe_thread;
  describe_fields = vm.describe_fields;
  vm.describe_class = [](uint64_t klass, AntTracksClass* out, char* text, size_t bytes) {
    const Outside here;
    return describe_class(klass, out, text, bytes);
  };
  vm.describe_site = [](uint32_t site, AntTracksSite* out) {
    const Outside here;
    return describe_site(site, out);
  };
  vm.describe_method = [](uint32_t method, AntTracksMethod* out, char* text, size_t bytes) {
    const Outside here;
    return describe_method(method, out, text, bytes);
  };
  vm.describe_thread = [](void* thread, AntTracksThread* out, char* text, size_t bytes) {
    const Outside here;
    return describe_thread(thread, out, text, bytes);
  };
  vm.describe_fields = [](uint64_t klass, void* context, void (*visit)(void*, const AntTracksField*)) {
    static thread_local void (*agents)(void*, const AntTracksField*);
    agents = visit;
    const Outside here;
    return describe_fields(klass, context, [](void* list, const AntTracksField* field) {
      const Outside inside(false);
      agents(list, field);
    });
  };
  vm.collect = [] { return int32_t{-1}; };
}

}  // namespace

Script::Script(ScriptPlan plan) : plan_(std::move(plan)), vm_(true, kHeapBytes / 8) {
  PutOutside(vm_.vm());
  const uint64_t start = vm_.heap();
  spaces_[kEden] = {ANTTRACKS_SPACE_EDEN, start, start, start + (96 << 10)};
  spaces_[kFrom] = {ANTTRACKS_SPACE_SURVIVOR, start + (96 << 10), start + (96 << 10), start + (128 << 10)};
  spaces_[kTo] = {ANTTRACKS_SPACE_SURVIVOR, start + (128 << 10), start + (128 << 10), start + (160 << 10)};
  spaces_[kOld] = {ANTTRACKS_SPACE_OLD, start + (160 << 10), start + (160 << 10), start + kHeapBytes};
  vm_.classes()[kPlugin] = {"Plugin0", 32, -1, false, FakeVm::kObject};
  plugin_ = kPlugin;
  const trace::FileHeader header{1, 2, 3};
  io::RotatingTrace* rotating = nullptr;
  if (plan_.max_bytes != 0) {
    auto made = io::RotatingTrace::Create(plan_.path, core::IfExists::kRefuse, header,
                                          {plan_.max_bytes, plan_.deviation});
    if (!made.ok()) throw std::runtime_error(made.message());
    rotating = made->get();
    sink_ = std::move(*made);
  } else {
    auto made = io::TraceFile::Create(plan_.path, core::IfExists::kRefuse);
    if (!made.ok()) throw std::runtime_error(made.message());
    sink_ = std::move(*made);
    if (!sink_->Write(trace::EncodeFileHeader(header)).ok()) throw std::runtime_error("no header");
  }
  session_ = std::make_unique<Session>(vm_.vm(), plan_.session);
  const io::WriterConfig config{.compressors = 1};
  writer_ = rotating != nullptr ? std::make_unique<io::Writer>(*session_, *rotating, config)
                                : std::make_unique<io::Writer>(*session_, *sink_, config);
}

Script::~Script() = default;

template <class Call>
void Script::InAgent(Call&& call) {
  const uint64_t begin = Clock::Monotonic();
  {
    const Outside inside(false);
    call(session_.get());
  }
  outcome_.longest_callback_ns = std::max(outcome_.longest_callback_ns, Clock::Monotonic() - begin);
}

ScriptObject Script::Make(uint64_t klass, uint32_t site, uint32_t length, bool locked, uint64_t at) {
  ScriptObject object{.at = at, .klass = klass, .site = site, .length = length, .locked = locked};
  const uint64_t end = locked ? vm_.PutLocked(at, klass, site) : vm_.Put(at, klass, site, length);
  object.bytes = end - at;
  return object;
}

ScriptObject Script::Random(uint64_t at) {
  const uint32_t site = 16 + random_() % 60;
  const unsigned what = random_() % 16;
  if (what == 0) return Make(FakeVm::kPoint, site, 0, true, at);
  if (what == 1) return Make(plugin_, site, 0, false, at);
  if (what < 6) return Make(FakeVm::kInts, site, random_() % 20, false, at);
  return Make(what < 10 ? FakeVm::kObject : FakeVm::kPoint, site, 0, false, at);
}

// Objects of eden, which the VM lists, and of the old space, which the agent reads.
void Script::SyncPoint() {
  std::vector<uint64_t> addresses;
  for (Space* space : {&spaces_[kEden], &spaces_[kOld]}) {
    for (int i = 0; i < 60; i++) {
      objects_.push_back(Random(space->top));
      if (space == &spaces_[kEden]) addresses.push_back(space->top);
      space->top += objects_.back().bytes;
    }
  }
  const std::vector<AntTracksSpace> spaces = Spaces(false);
  InAgent([&](void* agent) { callbacks_.sync_begin(agent, spaces.data(), kSpaces); });
  InAgent([&](void* agent) { callbacks_.sync_objects(agent, kEden, addresses.data(), 40); });
  InAgent([&](void* agent) { callbacks_.sync_objects(agent, kEden, addresses.data() + 40, 20); });
  InAgent([&](void* agent) { callbacks_.sync_end(agent); });
}

// In two stretches.
void Script::Tlab(Thread& thread, bool at_safepoint) {
  Space& eden = spaces_[kEden];
  for (int part = 0; part < 2; part++) {
    const uint64_t start = eden.top;
    for (int i = 0; i < kObjectsOfTlab / 2; i++) {
      objects_.push_back(Random(eden.top));
      outcome_.allocated.push_back(objects_.back());
      eden.top += objects_.back().bytes;
    }
    InAgent([&](void* agent) {
      callbacks_.tlab(agent, reinterpret_cast<void*>(thread.id), &thread.slot, start, eden.top, at_safepoint);
    });
  }
}

void Script::OutsideTlab(Thread& thread) {
  Space& eden = spaces_[kEden];
  ScriptObject object = Make(FakeVm::kInts, 16 + random_() % 60, 30, false, eden.top);
  object.outside = true;
  objects_.push_back(object);
  outcome_.allocated.push_back(object);
  eden.top += object.bytes;
  InAgent([&](void* agent) {
    callbacks_.object(agent, reinterpret_cast<void*>(thread.id), &thread.slot, object.at);
  });
}

void Script::Exit(Thread& thread) {
  InAgent(
      [&](void* agent) { callbacks_.thread_exit(agent, reinterpret_cast<void*>(thread.id), &thread.slot); });
  if (thread.slot != nullptr) throw std::runtime_error("a thread's slot was not released");
}

std::vector<AntTracksSpace> Script::Spaces(bool full) const {
  std::vector<AntTracksSpace> spaces;
  for (const Space& space : spaces_) {
    const bool collected = full || space.kind != ANTTRACKS_SPACE_OLD;
    spaces.push_back({space.kind, collected ? 1u : 0u, space.bottom, space.top, space.end});
  }
  return spaces;
}

// A third survives, a third of that is promoted.
void Script::Young(std::vector<ScriptObject>* survivors) {
  std::vector<AntTracksMove> moves[2];
  for (const ScriptObject& object : objects_) {
    const bool is_old = object.at >= spaces_[kOld].bottom;
    if (is_old) survivors->push_back(object);
    if (is_old || random_() % 3 != 0) continue;
    const bool promoted = random_() % 3 == 0;
    Space& to = spaces_[promoted ? kOld : kTo];
    survivors->push_back(Make(object.klass, object.site, object.length, object.locked, to.top));
    moves[random_() % 2].push_back({object.at, to.top | (promoted ? 1 : 0), object.bytes / 8});
    to.top += object.bytes;
  }
  for (uint32_t worker = 0; worker < 2; worker++) {
    const size_t half = moves[worker].size() / 2;
    InAgent([&](void* agent) {
      callbacks_.moves(agent, worker, moves[worker].data(), static_cast<uint32_t>(half));
      callbacks_.moves(agent, worker, moves[worker].data() + half,
                       static_cast<uint32_t>(moves[worker].size() - half));
    });
  }
}

// All slides to the bottom of the old space.
void Script::Full(std::vector<ScriptObject>* survivors) {
  std::vector<AntTracksSlide> slides;
  Space& old = spaces_[kOld];
  std::stable_partition(objects_.begin(), objects_.end(),
                        [&](const auto& object) { return object.at >= old.bottom; });
  old.top = old.bottom;
  for (const ScriptObject& object : objects_) {
    if (object.klass == plugin_ || random_() % 3 == 0) continue;
    survivors->push_back(Make(object.klass, object.site, object.length, object.locked, old.top));
    slides.push_back({object.at, old.top, object.bytes / 8});
    old.top += object.bytes;
  }
  InAgent(
      [&](void* agent) { callbacks_.slides(agent, 0, slides.data(), static_cast<uint32_t>(slides.size())); });
}

// Another class may get the address of one that is gone.
void Script::Unload() {
  InAgent([&](void* agent) { callbacks_.class_unload(agent, plugin_); });
  vm_.classes()[plugin_].name += "'";
}

void Script::Fill(uint64_t words) {
  Space& old = spaces_[kOld];
  const auto length = static_cast<uint32_t>((words - 2) * 2);
  objects_.push_back(Make(FakeVm::kInts, ANTTRACKS_SITE_FILLER, length, false, old.top));
  const AntTracksFiller filler{old.top, words};
  old.top += words * 8;
  InAgent([&](void* agent) { callbacks_.fillers(agent, 1, &filler, 1); });
}

void Script::Collect(int round) {
  const bool full = round % kFullEvery == kFullEvery - 1;
  std::vector<AntTracksSpace> spaces = Spaces(full);
  AntTracksGC gc{};
  gc.size = sizeof gc;
  gc.id = static_cast<uint32_t>(round);
  gc.kind = full ? ANTTRACKS_GC_FULL : ANTTRACKS_GC_YOUNG;
  gc.cause = "test";
  gc.spaces = spaces.data();
  gc.nspaces = kSpaces;
  InAgent([&](void* agent) { callbacks_.gc_begin(agent, &gc); });
  std::vector<ScriptObject> survivors;
  if (full) {
    Full(&survivors);
    Unload();
    spaces_[kTo].top = spaces_[kTo].bottom;
  } else {
    Young(&survivors);
  }
  objects_ = std::move(survivors);
  if (full) Fill(4);
  std::sort(objects_.begin(), objects_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  spaces_[kEden].top = spaces_[kEden].bottom;
  spaces_[kFrom].top = spaces_[kFrom].bottom;
  if (!full) std::swap(spaces_[kFrom], spaces_[kTo]);
  spaces = Spaces(full);
  gc.spaces = spaces.data();
  InAgent([&](void* agent) { callbacks_.gc_end(agent, &gc); });
  outcome_.collections++;
}

// Unless something fails on the way.
template <class Done>
void Script::Await(Done&& done) {
  const auto until = std::chrono::steady_clock::now() + plan_.file_wait;
  while (!done() && !session_->failure().failed() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Script::Round(int round) {
  for (int i = 0; i < plan_.tlabs; i++) {
    for (Thread& thread : threads_) Tlab(thread, false);
  }
  for (Thread& thread : threads_) OutsideTlab(thread);
  if (round == 2) {
    Exit(threads_.back());
    threads_.back() = {kThreads + 1, nullptr};
  }
  // Every other collection comes while the heap is walked.
  if (plan_.max_bytes == 0 || round % 2 != 0) {
    Collect(round);
    return;
  }
  const uint64_t files = session_->output().files;
  Await([&] { return !session_->background().busy(); });
  InAgent([](Session* session) { session->WantSyncPoint(); });
  Collect(round);
  Await([&] { return session_->output().files != files; });
}

void Script::Stop() {
  const auto guarded = [this](auto&& call) {
    try {
      InAgent(call);
    } catch (const std::exception& e) {
      outcome_.thrown = e.what();
    }
  };
  guarded([](Session* session) { session->PrepareStop(); });
  for (Thread& thread : threads_) Tlab(thread, true);
  for (Thread& thread : threads_) Exit(thread);
  guarded([](Session* session) { session->Finish("the end"); });
  guarded([](Session* session) { session->background().Stop(); });
}

ScriptOutcome Script::Run() {
  const Outside test;
  if (!writer_->Start(MetaOf(vm_)).ok()) throw std::runtime_error("no writer");
  session_->Begin(trace::SyncReason::kStart);
  callbacks_ = MakeCallbacks(session_.get());
  std::thread background([this] {
    const Outside inside(false);
    session_->background().Loop(vm_.vm());
  });
  if (plan_.begin) plan_.begin();
  SyncPoint();
  for (uintptr_t id = 1; id <= kThreads; id++) threads_.push_back({id, nullptr});
  for (int round = 0; round < plan_.rounds; round++) Round(round);
  Stop();
  background.join();
  outcome_.waited_for_writer = writer_->Wait(plan_.end_wait);
  if (!outcome_.waited_for_writer && plan_.free_writer) plan_.free_writer();
  outcome_.written = outcome_.waited_for_writer || writer_->Wait(std::chrono::seconds(20));
  if (plan_.end) plan_.end();
  outcome_.failed = session_->failure().failed();
  outcome_.reason = session_->failure().reason();
  outcome_.live = objects_.size();
  outcome_.files = session_->output().files;
  outcome_.dropped_chunks = session_->output().dropped_chunks;
  return std::move(outcome_);
}

}  // namespace anttracks::core
