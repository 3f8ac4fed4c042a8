// SPDX-License-Identifier: Apache-2.0

/**
 * Keeps many objects of a few sites while the whole heap is collected. Some have a hash, some are locked.
 */
public class Marks {
    private static final class Cell {
        Cell next;

        Cell(Cell next) {
            this.next = next;
        }
    }

    public static void main(String[] arguments) {
        int plain = Integer.parseInt(arguments[0]);
        int hashed = Integer.parseInt(arguments[1]);
        Cell kept = null;
        for (int i = 0; i < plain; i++) {
            kept = new Cell(kept);
        }
        Object[] known = new Object[hashed];
        int bits = 0;
        for (int i = 0; i < hashed; i++) {
            known[i] = new Object();
            bits ^= System.identityHashCode(known[i]);
        }
        Object garbage = null;
        for (int i = 0; i < plain; i++) { // so that the survivors move
            garbage = new byte[i % 64];
        }
        synchronized (kept) {
            synchronized (known) {
                System.gc();
                System.gc();
            }
        }
        System.out.println("kept " + bits + kept.next + known.length + garbage);
    }
}
