// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/**
 * What one method makes is kept for long, what another makes is not: Keeper ROUNDS. The kept objects refer to
 * younger ones, which they get at once, later, and by a copy of an array. Checks all at the end.
 */
public final class Keeper {
    static final class Entry {
        final int number;
        final Object first;
        Object later;

        Entry(int number, Object first) {
            this.number = number;
            this.first = first;
        }
    }

    private static final int KEPT = 40_000, PART = 16;
    private static long garbage;

    private static Entry entry(int number) {
        return new Entry(number, "first " + number);
    }

    private static Entry[] part(Entry[] from) {
        return from.clone();
    }

    private static byte[] bytes(int number) {
        return new byte[] {(byte) number, (byte) (number >> 8), 0, 0, 0, 0, 0, 0, 0};
    }

    private static void churn(int number) {
        for (int i = 0; i < 60; i++) garbage += ("garbage " + number + i).length();
    }

    private static void check(List<Entry[]> kept, List<byte[]> numbers, int round) {
        for (int i = 0; i < KEPT; i++) {
            Entry entry = kept.get(i / PART)[i % PART];
            int number = round * KEPT + i;
            boolean good = entry.number == number && entry.first.equals("first " + number)
                && entry.later.equals("later " + number)
                && numbers.get(i)[0] == (byte) number && numbers.get(i)[1] == (byte) (number >> 8);
            if (!good) throw new AssertionError("entry " + number + " is damaged: " + entry.first);
        }
    }

    private static void round(int round) {
        List<Entry[]> kept = new ArrayList<>();
        List<byte[]> numbers = new ArrayList<>();
        Entry[] part = new Entry[PART];
        for (int i = 0; i < KEPT; i++) {
            int number = round * KEPT + i;
            part[i % PART] = entry(number);
            numbers.add(bytes(number));
            if (i % PART == PART - 1) kept.add(part(part));
            churn(number);
        }
        for (int i = 0; i < KEPT; i++) {
            kept.get(i / PART)[i % PART].later = "later " + (round * KEPT + i);
            if (i % 4 == 0) churn(i);
        }
        check(kept, numbers, round);
    }

    public static void main(String[] args) {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) round(i);
        System.out.println("all " + KEPT + " are as they were made " + (garbage != 0));
        Judge.both();
    }
}
