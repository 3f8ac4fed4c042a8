// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.util.SplittableRandom;

/** Allocates small objects and arrays as fast as it can on two threads; a part survives a while. Fixed seed. */
public final class Allocate extends Workload {
    private static final class Node {
        Node next;
        long value;

        Node(Node next, long value) {
            this.next = next;
            this.value = value;
        }
    }

    private static final int THREADS = 2;

    private final int objects;

    private Allocate(int objects) {
        this.objects = objects;
    }

    private long work(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Object[] window = new Object[1 << 14];
        Node list = null;
        long sum = 0;
        for (int i = 0; i < objects; i++) {
            int pick = (int) (random.nextLong() >>> 60);
            Object made;
            if (pick < 8) {
                list = (i & 15) == 0 ? new Node(null, i) : new Node(list, i);
                made = list;
                sum += list.value;
            } else if (pick < 12) {
                int[] ints = new int[pick * 2];
                ints[pick] = i;
                sum += ints[pick] + ints.length;
                made = ints;
            } else if (pick < 15) {
                made = new byte[pick * 5];
            } else {
                made = new Object[] {list, i};
            }
            window[i & window.length - 1] = made;
        }
        return sum + window.length;
    }

    @Override long iterate() throws InterruptedException {
        long[] sums = new long[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int number = t;
            threads[t] = new Thread(() -> sums[number] = work(number));
            threads[t].start();
        }
        long sum = 0;
        for (int t = 0; t < THREADS; t++) {
            threads[t].join();
            sum = sum * 31 + sums[t];
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        new Allocate(small(args) ? 1_000_000 : 6_000_000).measure(args);
    }
}
