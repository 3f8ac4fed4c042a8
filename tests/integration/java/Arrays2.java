// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;

/**
 * Arrays of every element type and many lengths: empty, odd, multi-dimensional,
 * large ones that go straight to old.
 */
public final class Arrays2 {
    private static final List<Object> kept = new ArrayList<>();

    private static void everyType(int length) {
        kept.add(new boolean[length]);
        kept.add(new byte[length]);
        kept.add(new char[length]);
        kept.add(new short[length]);
        kept.add(new int[length]);
        kept.add(new long[length]);
        kept.add(new float[length]);
        kept.add(new double[length]);
        kept.add(new Object[length]);
        kept.add(new String[length]);
        kept.add(new int[length][]);
        kept.add(new Runnable[length][][]);
    }

    private static void multi() {
        kept.add(new int[3][4][5]);
        kept.add(new Object[2][0]);
        kept.add(new String[0][7]);
        kept.add(new byte[2][2][2][2][2]);
        kept.add(new long[50][1][]);
        kept.add(Array.newInstance(char.class, 2, 3, 1));
    }

    public static void main(String[] args) {
        for (int round = 0; round < 3; round++) {
            for (int length = 0; length < 70; length++) everyType(length);
            for (int i = 0; i < 500; i++) multi();
            for (int megabytes = 1; megabytes <= 4; megabytes++) {
                kept.add(new byte[megabytes << 20]);
                kept.add(new long[megabytes << 16]);
                kept.add(new Object[(megabytes << 17) + 1]);
                Object dropped = new double[megabytes << 17];
                if (dropped.hashCode() == 42) kept.add(dropped);
            }
            Judge.both();
            kept.subList(0, kept.size() / 2).clear();
            Judge.both();
        }
        System.out.println("arrays " + kept.size());
    }
}
