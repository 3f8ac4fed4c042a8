// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Starts daemons while all threads allocate, and ends before they do. Arguments: the path of what each daemon
 * leaves (see native.c), the number of daemons, the seconds that two more sleep: a shell's and a
 * ProcessBuilder's. Prints `daemon NUMBER` for each.
 */
public final class Forks {
    static volatile Object sink;
    private static volatile boolean stop;

    private static native int daemon(String path);

    private static native int shell(int seconds);

    private static void churn() {
        List<Object> some = new ArrayList<>();
        for (int i = 0; !stop; i++) {
            if (i % 5000 == 0) some.clear();
            some.add(new Object[] {"churn" + i, new int[i % 100]});
            sink = some;
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.library"));
        int each = Integer.parseInt(args[1]) / 2;
        ConcurrentLinkedQueue<Integer> daemons = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            boolean forks = i < 2;
            Thread thread = new Thread(() -> {
                for (int k = 0; forks && k < each; k++) {
                    for (int n = 0; n < 100_000; n++) sink = new int[n % 100];
                    daemons.add(daemon(args[0]));
                }
                if (!forks) churn();
            });
            thread.start();
            threads.add(thread);
        }
        for (int i = 0; i < 2; i++) threads.get(i).join();
        if (shell(Integer.parseInt(args[2])) != 0) throw new IllegalStateException("no shell");
        long sleeper = new ProcessBuilder("sleep", args[2]).start().pid();
        stop = true;
        for (Thread thread : threads) thread.join();
        for (int number : daemons) System.out.println("daemon " + number);
        System.out.println("sleeper " + sleeper);
    }
}
