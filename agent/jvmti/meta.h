// SPDX-License-Identifier: Apache-2.0
// Makes the META chunk's JSON from what JVM TI says about the JVM (trace/meta.h).
#pragma once

#include <jvmti.h>

#include <string>

#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::jvmti {

// census: of mode=census, otherwise of a trace of every object.
std::string MetaJson(jvmtiEnv* env, const AntTracksVM& vm, bool census, const char* options);
// For a trace of samples.
std::string SampleMetaJson(jvmtiEnv* env, uint64_t interval, unsigned depth, const char* options);

}  // namespace anttracks::jvmti
