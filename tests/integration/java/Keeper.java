// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/**
 * What one method makes is kept for long, what another makes is not: Keeper ROUNDS KEPT. The kept objects refer
 * to younger ones, which they get at once, later, and by a copy of an array. Checks all at the end.
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

    private static final int PART = 16;
    private static int kept;  // in a round
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

    private static void check(List<Entry[]> parts, List<byte[]> numbers, int round) {
        for (int i = 0; i < kept; i++) {
            Entry entry = parts.get(i / PART)[i % PART];
            int number = round * kept + i;
            boolean good = entry.number == number && entry.first.equals("first " + number)
                && entry.later.equals("later " + number)
                && numbers.get(i)[0] == (byte) number && numbers.get(i)[1] == (byte) (number >> 8);
            if (!good) throw new AssertionError("entry " + number + " is damaged: " + entry.first);
        }
    }

    private static void round(int round) {
        List<Entry[]> parts = new ArrayList<>();
        List<byte[]> numbers = new ArrayList<>();
        Entry[] part = new Entry[PART];
        for (int i = 0; i < kept; i++) {
            int number = round * kept + i;
            part[i % PART] = entry(number);
            numbers.add(bytes(number));
            if (i % PART == PART - 1) parts.add(part(part));
            churn(number);
        }
        for (int i = 0; i < kept; i++) {
            parts.get(i / PART)[i % PART].later = "later " + (round * kept + i);
            if (i % 4 == 0) churn(i);
        }
        check(parts, numbers, round);
    }

    public static void main(String[] args) {
        kept = Integer.parseInt(args[1]);
        for (int i = 0; i < Integer.parseInt(args[0]); i++) round(i);
        System.out.println("all " + kept + " are as they were made " + (garbage != 0));
        Judge.both();
    }
}
