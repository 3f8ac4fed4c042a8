// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that each keep a window of the objects that they made, some for ever, and end one after the other
 * while others go on with theirs. Arguments: threads, objects that each makes, objects that each keeps,
 * milliseconds between calls of System.gc() by a thread of its own (0: none). The output is always the same.
 */
public final class Windows {
    static class Item {
        final Object payload;

        Item(Object payload) {
            this.payload = payload;
        }
    }

    static final class Red extends Item {
        Red(Object payload) {
            super(payload);
        }
    }

    static final class Green extends Item {
        long number;

        Green(Object payload) {
            super(payload);
        }
    }

    static final class Blue extends Item {
        Object other;

        Blue(Object payload) {
            super(payload);
        }
    }

    private static final List<Object[]> kept = new ArrayList<>();
    private static volatile boolean stop;

    private static Item make(int color, int i, SplittableRandom random) {
        Object payload = (i & 1) == 0 ? new byte[random.nextInt(40)] : null;
        switch (color % 3) {
            case 0: return new Red(payload);
            case 1: return new Green(payload);
            default: return new Blue(payload);
        }
    }

    /**
     * Slots of low number are replaced often, those of high number hardly ever: all ages are there at any time.
     */
    private static void work(int color, int objects, Object[] window) {
        SplittableRandom random = new SplittableRandom(color);
        for (int i = 0; i < objects; i++) {
            Item made = make(color, i, random);
            double place = random.nextDouble();
            if (i < window.length) window[window.length - 1 - i] = made;
            else if ((i & 3) == 0) window[(int) (place * place * place * window.length)] = made;
            // no faster than a trace of some megabytes can keep up
            if ((i & 0x1FF) == 0) LockSupport.parkNanos(1_000_000);
        }
    }

    private static Thread collector(int millis) {
        Thread thread = new Thread(() -> {
            while (!stop) {
                try {
                    Thread.sleep(millis);
                } catch (InterruptedException e) {
                    return;
                }
                System.gc();
            }
        }, "collects");
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        int objects = Integer.parseInt(args[1]), keep = Integer.parseInt(args[2]);
        int millis = args.length > 3 ? Integer.parseInt(args[3]) : 0;
        Thread collector = millis > 0 ? collector(millis) : null;
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            int color = t;
            Object[] window = new Object[keep];
            kept.add(window);
            threads.add(new Thread(() -> work(color, objects * (color + 1) / count, window), "keeps-" + t));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        stop = true;
        if (collector != null) collector.join();
        long live = 0;
        for (Object[] window : kept) {
            for (Object o : window) live += o == null ? 0 : 1;
        }
        System.out.println("live " + live);
    }
}
