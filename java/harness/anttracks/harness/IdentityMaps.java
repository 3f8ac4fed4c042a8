// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Many IdentityHashMaps into which fresh objects are put, looked up and, oldest first, removed again: what
 * serializers and copiers of graphs do. Every look-up is checked. Fixed seed; an iteration begins afresh.
 */
public final class IdentityMaps extends Workload {
    private static final int MAPS = 256;
    private static final int MOST = 2048;  // keys of a map

    private static final class Window {
        final Map<Object, Integer> map = new IdentityHashMap<>();
        final Object[] keys = new Object[MOST];
        int first;
        int end;  // numbers of keys go up; a key's place is its number modulo MOST

        long step(SplittableRandom random) {
            if (end - first == MOST) {
                Integer gone = map.remove(keys[first % MOST]);
                check(gone != null && gone == first, "what was removed");
                first++;
            }
            Object fresh = new Object();
            check(map.put(fresh, end) == null, "a fresh object was there");
            keys[end++ % MOST] = fresh;
            int asked = first + random.nextInt(end - first);
            Integer found = map.get(keys[asked % MOST]);
            check(found != null && found == asked, "what was found");
            check(map.get(new Object()) == null, "an object that was never put in was found");
            return found;
        }
    }

    private final int steps;

    private IdentityMaps(int steps) {
        this.steps = steps;
    }

    private static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException("wrong: " + what);
    }

    @Override long iterate() {
        Window[] windows = new Window[MAPS];
        for (int i = 0; i < MAPS; i++) windows[i] = new Window();
        SplittableRandom random = new SplittableRandom(17);
        long sum = 0;
        for (int i = 0; i < steps; i++) sum = sum * 31 + windows[random.nextInt(MAPS)].step(random);
        for (Window window : windows) {
            check(window.map.size() == window.end - window.first, "the size of a map");
            sum = sum * 31 + window.map.size();
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        new IdentityMaps(small(args) ? 300_000 : 1_500_000).measure(args);
    }
}
