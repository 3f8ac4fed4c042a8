// SPDX-License-Identifier: Apache-2.0
// The C functions that the VM calls. Each checks whether tracing is on, calls the session, and catches every
// exception.
#pragma once

#include "agent/full/session.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

AntTracksCallbacks MakeCallbacks(Session* session);

}  // namespace anttracks::core
