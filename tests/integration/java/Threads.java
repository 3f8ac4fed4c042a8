// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** Eight allocating threads; hundreds of short ones come and go beside them; heaps are taken while all run. */
public final class Threads {
    private static final ConcurrentHashMap<Integer, Object> shared = new ConcurrentHashMap<>();
    private static volatile boolean stop;

    static final class Item {
        Item next;
        final byte[] data;

        Item(Item next, int size) {
            this.next = next;
            this.data = new byte[size];
        }
    }

    private static void work(int seed) {
        Random random = new Random(seed + Long.getLong("random.seed", 0));
        Item local = null;
        for (int i = 0; !stop; i++) {
            local = new Item(random.nextInt(1000) == 0 ? null : local, random.nextInt(100));
            if (random.nextInt(10) == 0) shared.put(random.nextInt(2000), new Object[] {local.data, "t" + i});
            if (random.nextInt(5000) == 0) shared.put(-seed - 1, new long[20_000]);
        }
    }

    private static void shortLived(int number) {
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < 200; i++) list.add(new int[i % 17]);
        shared.put(10_000 + number % 100, list);
    }

    public static void main(String[] args) throws Exception {
        stop = false; // Repeat comes here again
        List<Thread> workers = new ArrayList<>();
        CountDownLatch started = new CountDownLatch(8);
        for (int t = 0; t < 8; t++) {
            int seed = t;
            Thread thread = new Thread(() -> {
                started.countDown();
                work(seed);
            }, "worker-" + t);
            thread.start();
            workers.add(thread);
        }
        started.await();
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 100; i++) {
                int number = round * 100 + i;
                Thread thread = new Thread(() -> shortLived(number), "short-" + number);
                thread.start();
                if (i % 4 == 0) thread.join();
            }
            Judge.both();
        }
        stop = true;
        for (Thread thread : workers) thread.join();
        Judge.both();
        System.out.println("done");
    }
}
