// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * A program to attach to. It builds data first, says "running", and works until a line on its input says "end"
 * or the input ends; the lines "both", "dump" and "gc" are carried out and answered by "done". Arguments:
 * threads, objects to keep, whether the threads work.
 */
public final class Attached {
    static final class Early {
        final int number;
        final byte[] bytes;

        Early(int number) {
            this.number = number;
            bytes = new byte[number % 40];  // @bytes
        }
    }

    static final class Late {
        Object next;
    }

    private static volatile boolean ended;
    private static final List<Object> kept = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        int objects = Integer.parseInt(args[1]);
        boolean work = args[2].equals("work");
        for (int i = 0; i < objects; i++) kept.add(new Early(i));  // @early
        Object lock = new Object();
        lock.hashCode();
        kept.add(lock);
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; work && i < threads; i++) {
            Thread worker = new Thread(Attached::work, "worker-" + i);
            worker.start();
            workers.add(worker);
        }
        System.out.println("running");
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String line = lines.nextLine();
            if (line.equals("end")) break;
            if (line.equals("both")) Judge.both();
            if (line.equals("dump")) Judge.dump();
            if (line.equals("gc")) System.gc();
            System.out.println("done");
        }
        ended = true;
        for (Thread worker : workers) worker.join();
        System.out.println("kept " + kept.size());
    }

    private static void work() {
        Object[] window = new Object[20_000];
        for (long i = 0; !ended; i++) {
            Object made;
            switch ((int) (i % 5)) {
                case 0: made = new byte[ThreadLocalRandom.current().nextInt(200)]; break;
                case 1: made = "text " + i; break;
                case 2: made = i % 1000 == 2 ? new long[40_000] : new Object[3]; break;
                default: {
                    Late late = new Late();  // @late
                    late.next = i % 3 == 0 ? null : new Object[] {i};
                    made = late;
                }
            }
            int slot = ThreadLocalRandom.current().nextInt(window.length);
            synchronized (made) {
                window[slot] = made;
            }
            if (i % 100_000 == 0) made.hashCode();
            // the traces of some minutes are to be read by tests
            if (i % 500 == 0) LockSupport.parkNanos(1_000_000);
        }
    }
}
