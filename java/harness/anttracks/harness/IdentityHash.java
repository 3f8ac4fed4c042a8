// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.util.HashSet;
import java.util.Set;

/**
 * Objects with identity hashes in a HashSet, and as many look-ups, of which half hit. The worst case for
 * tracers that keep the allocation site in the hash code, and so make it less random. --objects: how many.
 */
public final class IdentityHash extends Workload {
    private final int count;

    private IdentityHash(int count) {
        this.count = count;
    }

    @Override long iterate() {
        Object[] present = new Object[count];
        Set<Object> set = new HashSet<>();
        for (int i = 0; i < count; i++) set.add(present[i] = new Object());
        long hits = 0;
        for (int i = 0; i < count; i++) {
            Object key = (i & 1) == 0 ? present[i] : new Object();
            if (set.contains(key)) hits++;
        }
        if (set.size() != count || hits != (count + 1) / 2) {
            throw new IllegalStateException(set.size() + " objects and " + hits + " hits of " + count);
        }
        return hits << 32 | set.size();
    }

    public static void main(String[] args) throws Exception {
        String objects = small(args) ? "100000" : option(args, "--objects", "10000000");
        new IdentityHash(Integer.parseInt(objects)).measure(args);
    }
}
