// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/**
 * Fills the heap with arrays that take regions of their own, frees every other one, and asks for one that
 * needs many regions side by side: a full collection has to move the large arrays. Argument: how many arrays;
 * wants a heap of 1.6 times as many regions of 1 MB.
 */
public final class Humongous {
    private static final List<byte[]> arrays = new ArrayList<>();

    public static void main(String[] args) {
        int regions = Integer.parseInt(args[0]);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < regions; i++) arrays.add(new byte[i % 5 == 0 ? 1_200_000 : 700_000]);
            for (int i = arrays.size() - 1; i >= 0; i -= 2) arrays.remove(i);
            Judge.histogram();
            arrays.add(new byte[(regions * 3 / 5) << 20]);
            Judge.both();
            arrays.subList(2, arrays.size()).clear();
        }
        System.out.println("kept " + !arrays.isEmpty());
    }
}
