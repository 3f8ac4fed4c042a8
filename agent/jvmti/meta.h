// SPDX-License-Identifier: Apache-2.0
// The META chunk: what is worth knowing about the JVM that is traced.
#pragma once

#include <jvmti.h>

#include <string>

#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::jvmti {

std::string MetaJson(jvmtiEnv* env, const AntTracksVM& vm, const char* options);
// Of a trace of samples.
std::string SampleMetaJson(jvmtiEnv* env, uint64_t interval, unsigned depth, const char* options);

}  // namespace anttracks::jvmti
