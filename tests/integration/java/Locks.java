// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;

/**
 * Objects whose header is in use while the collector runs: stack-locked, inflated, contended, waited for,
 * hashed.
 */
public final class Locks {
    static final class Cell {
        int value;
        Object next;
    }

    private static final Cell[] cells = new Cell[2000];
    private static final List<Object> kept = new ArrayList<>();
    private static volatile boolean stop;

    private static void contend(int seed) {
        Random random = new Random(seed + Long.getLong("random.seed", 0));
        while (!stop) {
            Cell cell = cells[random.nextInt(50)];
            synchronized (cell) {
                cell.value++;
                cell.next = new Cell();
                if (random.nextInt(100) == 0) cell.notifyAll();
                if (random.nextInt(200) == 0) {
                    try {
                        cell.wait(1);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }
    }

    /** Collections happen while this thread holds many fresh objects by stack locks only. */
    private static void nested(int depth) {
        Cell mine = new Cell();
        if (depth % 3 == 0) mine.value = System.identityHashCode(mine);
        synchronized (mine) {
            mine.next = new int[depth];
            if (depth == 0) {
                Judge.both();
                System.gc();
            } else {
                nested(depth - 1);
            }
        }
        kept.add(mine);
    }

    private static void checkHash(Cell cell) {
        boolean right = cell.value == 0 || cell.value == System.identityHashCode(cell);
        if (!right) throw new AssertionError("another hash");
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < cells.length; i++) {
            cells[i] = new Cell();
            if (i % 2 == 0) cells[i].value = cells[i].hashCode();
        }
        List<Thread> threads = new ArrayList<>();
        CyclicBarrier barrier = new CyclicBarrier(7);
        for (int t = 0; t < 6; t++) {
            int seed = t;
            Thread thread = new Thread(() -> {
                try {
                    barrier.await();
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
                contend(seed);
            });
            thread.start();
            threads.add(thread);
        }
        barrier.await();
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 200_000; i++) {
                Cell fresh = new Cell();
                synchronized (fresh) {
                    fresh.next = new Object();
                    if (i % 5 == 0) fresh.value = fresh.hashCode();
                }
                if (i % 50 == 0) cells[50 + i / 50 % 1950] = fresh;
            }
            nested(200);
        }
        stop = true;
        for (Thread thread : threads) thread.join();
        for (int i = 50; i < cells.length; i++) checkHash(cells[i]);
        for (Object cell : kept) checkHash((Cell) cell);
        Judge.both();
        System.out.println("locks " + kept.size());
    }
}
