// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** Runs out of memory several times, from several allocation paths, catches it, goes on. */
public final class Oom {
    private static int caught;

    private static void exhaust(int kind) {
        List<Object> list = new ArrayList<>();
        try {
            for (int i = 0; ; i++) {
                switch (kind) {
                    case 0: list.add(new byte[1 << 20]); break;
                    case 1: list.add(new Object[1000]); break;
                    case 2: list.add(new int[100][100]); break;
                    case 3: list.add(new long[100_000].clone()); break;
                    default: list.add(new byte[Integer.MAX_VALUE - 8]); break;
                }
            }
        } catch (OutOfMemoryError e) {
            list = null;
            caught++;
        }
    }

    public static void main(String[] args) {
        for (int kind = 0; kind < 5; kind++) {
            exhaust(kind);
            Judge.both();
        }
        System.out.println("caught " + caught);
    }
}
