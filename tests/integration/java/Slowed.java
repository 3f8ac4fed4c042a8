// SPDX-License-Identifier: Apache-2.0

/**
 * Threads that allocate, each with a window of live objects that collections copy,
 * for a disk that cannot keep up.
 */
public final class Slowed {
    private static final class Node {
        Object payload;
        Node other;
    }

    public static void main(String[] args) throws Exception {
        int objects = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(objects));
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println("made " + 3 * objects);
    }

    private static void work(int objects) {
        Node[] window = new Node[20_000];
        for (int i = 0; i < objects; i++) {
            Node node = new Node();
            node.payload = i % 3 == 0 ? new byte[i % 50] : null;
            node.other = window[(int) (i * 31L % window.length)];
            if (node.other != null) node.other.other = null;
            window[i * 17 % window.length] = node;
        }
    }
}
