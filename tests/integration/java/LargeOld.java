// SPDX-License-Identifier: Apache-2.0
import java.util.SplittableRandom;

/**
 * A large old generation of small objects, a part of which is replaced all the time. Arguments: live objects,
 * replacements, milliseconds between calls of System.gc() by a thread of its own (0: no calls).
 */
public final class LargeOld {
    static final class Entry {
        Object key;
        final Object value;
        Entry other;

        Entry(Object key, Object value) {
            this.key = key;
            this.value = value;
        }
    }

    static Entry garbage;
    private static volatile boolean stop;

    private static Entry make(SplittableRandom random, int i) {
        switch (random.nextInt(5)) {
            case 0: return new Entry(i, new byte[random.nextInt(40)]);
            case 1: return new Entry("key" + i, null);
            case 2: return new Entry(new long[] {i}, new Object());
            default: return new Entry(null, new int[random.nextInt(6)]);
        }
    }

    private static Thread collector(int millis) {
        Thread thread = new Thread(() -> {
            SplittableRandom random = new SplittableRandom(5);
            while (!stop) {
                try {
                    Thread.sleep(1 + random.nextInt(millis));
                } catch (InterruptedException e) {
                    return;
                }
                System.gc();
            }
        }, "collects");
        thread.start();
        return thread;
    }

    private static long churn(Entry[] live, SplittableRandom random, int replacements) {
        long sum = 0;
        for (int i = 0; i < replacements; i++) {
            int at = random.nextInt(live.length);
            Entry made = make(random, i);
            made.other = (i & 3) == 0 ? live[random.nextInt(live.length)] : null;
            if (made.other != null) made.other.other = null;
            live[at] = made;
            for (int j = 0; j < 3; j++) garbage = make(random, j);
            sum += at;
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        Entry[] live = new Entry[Integer.parseInt(args[0])];
        int replacements = Integer.parseInt(args[1]);
        int millis = args.length > 2 ? Integer.parseInt(args[2]) : 0;
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < live.length; i++) live[i] = make(random, i);
        Thread collector = millis > 0 ? collector(millis) : null;
        long sum = churn(live, random, replacements);
        stop = true;
        if (collector != null) collector.join();
        Judge.both();
        sum += churn(live, random, replacements / 20);
        Judge.both();
        System.out.println("large " + sum);
    }
}
