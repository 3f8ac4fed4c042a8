// SPDX-License-Identifier: Apache-2.0
#include "agent/stream/event_source.h"

namespace anttracks::core {

void EventSource::CountOutput(CounterValues* values) const {
  values->raw_bytes = output_.raw_bytes;
  values->stored_bytes = output_.stored_bytes;
  values->chunks = output_.chunks;
  values->files = output_.files;
  values->write_ns = output_.write_ns;
  values->compressed_chunks = output_.compressed_chunks;
  values->compress_ns = output_.compress_ns;
  values->dropped_chunks = output_.dropped_chunks;
  values->dropped_bytes = output_.dropped_bytes;
  values->requested_collections = output_.requested_collections;
  values->provenance_files = output_.provenance_files;
  values->lost_provenance += output_.lost_provenance;
  values->queue_high_water_bytes = queue_.high_water_bytes();
  values->lost_segments = queue_.lost_segments();
  values->lost_bytes = queue_.lost_bytes();
}

}  // namespace anttracks::core
