// SPDX-License-Identifier: Apache-2.0
// A program whose calls are known: one site allocates for three callers, in a fixed order, so that samples at
// regular distances would see one of them only.
//
//     CallTree ROUNDS        main and another thread, each ROUNDS times: alpha, beta, gamma; a map in two ways
//     CallTree ROUNDS deep   the same, in main alone, below DEPTH calls of one method
public final class CallTree {
    private static final int DEPTH = 700;
    private static Object sink;

    // With its header of 16 bytes, as many bytes as that.
    private static void make(int bytes) {
        sink = new byte[bytes - 16];  // @make
    }

    private static void alpha() {
        make(1000);  // @alpha
    }

    private static void beta() {
        make(2000);  // @beta
    }

    private static void gamma() {
        make(5000);  // @gamma
    }

    private static void often(java.util.HashMap<Integer, Integer> map) {
        for (int i = 0; i < 3; i++) map.put(i, i);  // @often
    }

    private static void seldom(java.util.HashMap<Integer, Integer> map) {
        map.put(9, 9);  // @seldom
    }

    private static void work(int rounds) {
        for (int i = 0; i < rounds; i++) {
            alpha();
            beta();
            gamma();
            java.util.HashMap<Integer, Integer> map = new java.util.HashMap<>();
            often(map);
            seldom(map);
            sink = map;
        }
    }

    private static void descend(int depth, int rounds) {
        if (depth == 0) work(rounds);
        else descend(depth - 1, rounds);
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        if (args.length > 1) {
            descend(DEPTH, rounds);
            return;
        }
        Thread thread = new Thread(() -> work(rounds), "worker");
        thread.start();
        work(rounds);
        thread.join();
    }
}
