// SPDX-License-Identifier: Apache-2.0
// Writes and reads the fields of a record by their types, so that one list of the fields serves both.
//
// Thread safety: that of the buffer. Ownership: a string_view that is read points into the reader's bytes.
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
