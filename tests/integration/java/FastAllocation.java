// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that allocate as fast as they can; a part of it lives for a while. Arguments: objects a thread,
 * threads (4), objects that a thread keeps (500). Heaps are taken at the end, while the threads go on slowly.
 * The output is always the same.
 */
public final class FastAllocation {
    static final class Node {
        Node next;
        Object payload;
    }

    private static volatile boolean stop;

    private static Object make(SplittableRandom random, int i) {
        int pick = random.nextInt(16);
        if (pick < 6) return new Node();
        if (pick < 9) return new int[pick];
        if (pick < 12) return new byte[random.nextInt(60)];
        if (pick < 14) return new Object[] {i, (long) i};
        if (pick == 14) return "n" + i;
        return new long[random.nextInt(8)];
    }

    private static long allocate(int seed, int from, int to, Object[] kept) {
        SplittableRandom random = new SplittableRandom(seed + from);
        long sum = 0;
        for (int i = from; i < to; i++) {
            Object made = make(random, i);
            if (made instanceof Node) {
                ((Node) made).payload = (i & 3) == 0 ? kept[i % kept.length] : null;
                sum += i;
            }
            if ((i & 7) == 0) kept[random.nextInt(kept.length)] = made;
            if ((i & 0xFFFFF) == 0) java.util.Arrays.fill(kept, null);
        }
        return sum;
    }

    private static long work(int seed, int objects, int keep, CountDownLatch done) {
        Object[] kept = new Object[keep];
        long sum = allocate(seed, 0, objects, kept);
        done.countDown();
        while (!stop) {  // slowly, so that the heaps taken now stay in a trace that rotates
            allocate(seed, 0, 200, kept);
            LockSupport.parkNanos(1_000_000);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int objects = Integer.parseInt(args[0]);
        int count = args.length > 1 ? Integer.parseInt(args[1]) : 4;
        int keep = args.length > 2 ? Integer.parseInt(args[2]) : 500;
        CountDownLatch done = new CountDownLatch(count);
        long[] sums = new long[count];
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            int number = t;
            Thread thread = new Thread(() -> sums[number] = work(number, objects, keep, done),
                    "allocates-" + t);
            thread.start();
            threads.add(thread);
        }
        done.await();
        Judge.both();
        Judge.both();
        stop = true;
        long sum = 0;
        for (int t = 0; t < count; t++) {
            threads.get(t).join();
            sum = sum * 31 + sums[t];
        }
        System.out.println("sum " + sum);
    }
}
