// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/**
 * C2 removes these objects until an unusual path deoptimizes the method and rematerialises them,
 * arrays and boxes too.
 */
public final class Deopt {
    static final class Vector {
        final double x;
        final double y;

        Vector(double x, double y) {
            this.x = x;
            this.y = y;
        }

        Vector plus(Vector other) {
            return new Vector(x + other.x, y + other.y);
        }
    }

    static class Shape {
        double area(Vector v) {
            return v.x * v.y;
        }
    }

    static final class Escaping extends Shape {
        @Override double area(Vector v) {
            kept.add(v);
            return v.x;
        }
    }

    static final List<Object> kept = new ArrayList<>();

    private static double step(Shape shape, int i, int rare) {
        Vector a = new Vector(i, 1);
        Vector b = a.plus(new Vector(1, i));
        int[] pair = {i, i + 1};
        Integer boxed = i + 100_000;
        if (i % 1_000_000 == rare) {
            kept.add(a);
            kept.add(b);
            kept.add(pair);
            kept.add(boxed);
            synchronized (b) {
                kept.add(new Object[] {a, b});
            }
        }
        return shape.area(b) + pair[i & 1] + boxed;
    }

    public static void main(String[] args) {
        double sum = 0;
        for (int round = 0; round < 5; round++) {
            for (int i = 1; i < 400_000; i++) sum += step(new Shape(), i, -1);
            for (int i = 1; i < 3_000; i++) sum += step(i % 2 == 0 ? new Escaping() : new Shape(), i, i);
            Judge.both();
        }
        System.out.println("deopt " + (sum > 0));
    }
}
