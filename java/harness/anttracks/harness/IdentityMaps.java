// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * IdentityHashMaps into which fresh objects are put, looked up and, oldest first, removed again: what
 * serializers and copiers of graphs do. Every look-up is checked. Fixed seed; an iteration begins afresh.
 * --maps and --keys say how many maps there are and how many keys each has at most.
 */
public final class IdentityMaps extends Workload {
    private static final class Window {
        final Map<Object, Integer> map = new IdentityHashMap<>();
        final Object[] keys;
        int first;
        int end;  // numbers of keys go up; a key's place is its number modulo the length of keys

        Window(int most) {
            keys = new Object[most];
        }

        long step(SplittableRandom random) {
            if (end - first == keys.length) {
                Integer gone = map.remove(keys[first % keys.length]);
                check(gone != null && gone == first, "what was removed");
                first++;
            }
            Object fresh = new Object();
            check(map.put(fresh, end) == null, "a fresh object was there");
            keys[end++ % keys.length] = fresh;
            int asked = first + random.nextInt(end - first);
            Integer found = map.get(keys[asked % keys.length]);
            check(found != null && found == asked, "what was found");
            check(map.get(new Object()) == null, "an object that was never put in was found");
            return found;
        }
    }

    private final int steps;
    private final int maps;
    private final int most;

    private IdentityMaps(int steps, int maps, int most) {
        this.steps = steps;
        this.maps = maps;
        this.most = most;
    }

    private static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException("wrong: " + what);
    }

    @Override long iterate() {
        Window[] windows = new Window[maps];
        for (int i = 0; i < maps; i++) windows[i] = new Window(most);
        SplittableRandom random = new SplittableRandom(17);
        long sum = 0;
        for (int i = 0; i < steps; i++) sum = sum * 31 + windows[random.nextInt(maps)].step(random);
        for (Window window : windows) {
            check(window.map.size() == window.end - window.first, "the size of a map");
            sum = sum * 31 + window.map.size();
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int maps = Integer.parseInt(option(args, "--maps", "256"));
        int most = Integer.parseInt(option(args, "--keys", "2048"));
        new IdentityMaps(small(args) ? 300_000 : 1_500_000, maps, most).measure(args);
    }
}
