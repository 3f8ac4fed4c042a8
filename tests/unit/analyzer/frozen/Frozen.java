// SPDX-License-Identifier: Apache-2.0
// Compiled with -XDstringConcat=inline, so that few classes are loaded: two threads that make nodes, arrays and
// strings. Some nodes stay for a while, and every few rounds the program asks for a collection.
import java.util.ArrayList;
import java.util.List;

public final class Frozen {
    static final class Node {
        Node next;
        int[] values;

        Node(Node next, int size) {
            this.next = next;
            this.values = new int[size];
        }
    }

    static volatile Object sink;

    static Node round(int objects) {
        Node kept = null;
        for (int i = 0; i < objects; i++) {
            Node made = new Node(kept, i % 7);
            if (i % 50 == 0) kept = made;
            sink = "node " + i;
        }
        return kept;
    }

    static final class Worker extends Thread {
        private final int objects;
        Node kept;

        Worker(int number, int objects) {
            super("worker-" + number);
            this.objects = objects;
        }

        @Override
        public void run() {
            kept = round(objects);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]), objects = Integer.parseInt(arguments[1]);
        int every = Integer.parseInt(arguments[2]), wait = Integer.parseInt(arguments[3]);
        List<Node> main = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            Worker worker = new Worker(i, objects);
            worker.start();
            worker.join();
            main.add(worker.kept);
            main.add(round(objects));
            if (i % 3 == 2) main.subList(0, 4).clear();
            if (i % every == 0) System.gc();
            Thread.sleep(wait);
        }
        System.out.println(main.size());
    }
}
