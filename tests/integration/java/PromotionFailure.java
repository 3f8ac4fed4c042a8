// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Keeps the heap nearly full while young collections run: the padded average of promotions says that an old
 * generation with little room is enough, then far more than usual survives,
 * and promotion fails in the middle of a collection.
 */
public final class PromotionFailure {
    static final class Small {
        Small next;
        long value;
    }

    private static final List<Object> old = new ArrayList<>();

    private static MemoryPoolMXBean oldPool() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().endsWith("Old Gen") || pool.getName().equals("Tenured Gen")) return pool;
        }
        throw new IllegalStateException("no old generation");
    }

    private static void fillOld(MemoryPoolMXBean pool, long leave) {
        while (true) {
            System.gc();
            long free = pool.getUsage().getMax() - pool.getUsage().getUsed() - leave;
            if (free < 64 << 10) return;
            for (long made = 0; made + (32 << 10) < Math.min(free, 4 << 20); made += 32 << 10) {
                old.add(new byte[32 << 10]);
            }
        }
    }

    private static void garbage(int megabytes) {
        for (int i = 0; i < megabytes << 10; i++) {
            Object garbage = new byte[1000];
            if (garbage.hashCode() == 1) old.add(garbage);
        }
    }

    private static void checkHashes(Small small) {
        for (; small != null; small = small.next) {
            boolean right = small.value == 0 || small.value == System.identityHashCode(small);
            if (!right) throw new AssertionError("another hash");
        }
    }

    public static void main(String[] args) {
        long leave = Long.parseLong(args[0]) << 20;
        int live = Integer.parseInt(args[1]);
        MemoryPoolMXBean pool = oldPool();
        Random random = new Random(Long.getLong("random.seed", 3));
        for (int round = 0; round < 4; round++) {
            fillOld(pool, leave);
            garbage(200);
            Small chain = null;
            Small[] ends = new Small[64];
            for (int i = 0; i < live; i++) {
                Small small = new Small();
                small.next = chain;
                chain = small;
                ends[random.nextInt(64)] = small;
                if (i % 3 == 0) small.value = System.identityHashCode(small);
            }
            checkHashes(chain);
            garbage(30);
            Judge.both();
            ends = null;
            chain = null;
            for (int i = 0; i < 20 && !old.isEmpty(); i++) old.remove(random.nextInt(old.size()));
            Judge.histogram();
        }
        System.out.println("survived " + !old.isEmpty());
    }
}
