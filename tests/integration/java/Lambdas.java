// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Capturing lambdas, method references, string concatenation, records, streams, enums with bodies. */
public final class Lambdas {
    record Point(int x, long y, String label) {}

    enum Shape {
        ROUND {
            @Override Object make(int i) {
                return new Point(i, i, "r" + i);
            }
        },
        SQUARE {
            @Override Object make(int i) {
                return (Supplier<String>) () -> "s" + i;
            }
        };

        abstract Object make(int i);
    }

    private static final List<Object> kept = new ArrayList<>();

    private static long round(int steps) {
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            int captured = i;
            IntSupplier one = () -> captured + 1;
            String text = "i=" + i + ", one=" + one.getAsInt() + ", c=" + (char) ('a' + i % 26);
            Supplier<Integer> length = text::length;
            sum += length.get();
            Object made = Shape.values()[i % 2].make(i);
            if (i % 9 == 0) kept.add(List.of(one, text, length, made, new Point(i, sum, text)));
        }
        kept.add(IntStream.range(0, 2000).boxed().collect(Collectors.groupingBy(i -> i % 17)));
        return sum;
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += round(20_000);
            Judge.both();
            kept.subList(0, kept.size() / 2).clear();
        }
        Judge.both();
        System.out.println("lambdas " + sum);
    }
}
