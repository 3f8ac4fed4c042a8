// SPDX-License-Identifier: Apache-2.0
// Fields one behind the other, written and read by their types: one list of a record's fields serves both ways.
//
// Thread safety: as the buffer. Ownership: views that are read borrow the reader's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/wire.h"

namespace anttracks::trace {

inline void Put(ByteBuffer* out, uint64_t field) { out->Uv(field); }
inline void Put(ByteBuffer* out, int64_t field) { out->Sv(field); }
inline void Put(ByteBuffer* out, std::string_view field) { out->Str(field); }

inline void Get(WireReader& in, uint64_t* field) { *field = in.Uv(); }
inline void Get(WireReader& in, int64_t* field) { *field = in.Sv(); }
inline void Get(WireReader& in, std::string_view* field) { *field = in.Str(); }
inline void Get(WireReader& in, std::string* field) { *field = in.Str(); }

}  // namespace anttracks::trace
