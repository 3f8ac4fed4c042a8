// SPDX-License-Identifier: Apache-2.0
// Writes the heap of a trace as a heap dump, for tools that read these: each object at its address, with its
// class, its length and the stack of its allocation site. A trace has no values of fields and elements: all are
// zero, so that no object refers to another one.
//
// Tools leave out what no root reaches, so objects need roots:
//   kRoots   each object is a root of its own
//   kSites   each allocation site is an object that refers to all that was allocated there: an instance of a
//            class "site com.app.Foo.bar(Foo.java:12)" with an Object[]. The retained size of that instance is
//            what the site has in the heap
//
// Classes, and the objects of kSites, have ids behind the heap's end. A class whose fields the trace does not
// have gets unnamed ones that fill its size. The record of a class has the size of an instance in the JVM, as
// dumps of later JDKs have it: VisualVM takes it. Tools that compute sizes from fields get other ones.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/model/definitions.h"
#include "analyzer/model/heap.h"
#include "trace/status.h"

namespace anttracks::hprof {

enum class Held { kRoots, kSites };

struct HeapToWrite {
  const analyzer::Definitions& definitions;
  // Calls the argument for each object of the heap, by address. Is called several times, and must show the same
  // objects each time.
  std::function<void(const std::function<void(const analyzer::HeapObject&)>&)> for_each;
  uint64_t heap_end = 0;      // address, in bytes
  uint64_t milliseconds = 0;  // since 1970: when this was the heap
};

struct WrittenHeap {
  uint64_t objects = 0;
  uint64_t bytes = 0;  // of these objects, in the JVM
};

// Error: see HprofWriter::Create, or the file could not be written. Then there is no new file.
trace::Result<WrittenHeap> WriteHprof(const std::string& path, bool force, const HeapToWrite& heap, Held held);

}  // namespace anttracks::hprof
