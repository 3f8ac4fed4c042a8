// SPDX-License-Identifier: Apache-2.0
import java.util.Arrays;
import java.util.function.IntSupplier;

/**
 * Allocation sites that are known: a comment `@name` marks the line. Everything stays alive. At its end it
 * prints `expect CLASS COUNT NAME`: COUNT objects of CLASS were made at the line that carries `@NAME`.
 */
public final class Sites {
    static class Plain { int a; }

    static class Second { long a, b, c; }

    static class Inlined { Object o; }

    static class DeepInlined { }

    static class Element { }

    static class Outer { Object[] made = new Object[2]; } // @field

    static class Sheep implements Cloneable {
        int a;

        @Override protected Sheep clone() throws CloneNotSupportedException {
            return (Sheep) super.clone(); // @clone
        }
    }

    static class Copied { }

    static class FirstOfTwo { }

    static class SecondOfTwo { }

    static class Looped { }

    static class Thrown extends RuntimeException { }

    static int rounds;
    static Object[] kept;
    static int used;

    static void keep(Object o) {
        kept[used++] = o;
    }

    static Object plain() {
        return new Plain(); // @plain
    }

    static Object second() {
        return new Second(); // @second
    }

    static Object inner() {
        return new Inlined(); // @inner
    }

    static Object callerA() {
        return inner(); // @callerA
    }

    static Object callerB() {
        return inner(); // @callerB
    }

    static Object deep0() {
        return new DeepInlined(); // @deep0
    }

    static Object deep1() {
        return deep0(); // @deep1
    }

    static Object deep2() {
        return deep1(); // @deep2
    }

    static Object elements(int n) {
        return new Element[n]; // @elements
    }

    static Object multi() {
        return new short[3][2]; // @multi
    }

    static Object cube() {
        return new double[2][3][1]; // @cube
    }

    static Object floats(int n) {
        return new float[n]; // @floats
    }

    static Object both() {
        // Statements, since javac's line table gives a `new` inside an expression the statement's line.
        Object first = new FirstOfTwo(); // @first
        Object second = new SecondOfTwo(); // @secondOfTwo
        return new Object[] { first, second };
    }

    static Object looped(int n) {
        Looped[] all = new Looped[4]; // @loopedArray
        for (int i = 0; i < all.length; i++) {
            all[i] = new Looped(); // @looped
        }
        return all;
    }

    static Object thrown() {
        try {
            throw new Thrown(); // @thrown
        } catch (Thrown t) {
            return t;
        }
    }

    static final Copied[] original = new Copied[2];

    static Object copied() {
        return Arrays.copyOf(original, 3); // @copyOf
    }

    static Object boxed(int i) {
        Float box = 0.5f + i; // @boxed
        return box;
    }

    static Object concat(int i) {
        return "text " + i; // @concat
    }

    static Object lambda(int i) {
        IntSupplier supplier = () -> i; // @lambda
        return supplier;
    }

    static void round(int i, Sheep sheep) throws Exception {
        keep(plain());
        keep(second());
        keep(callerA());
        keep(callerB());
        keep(deep2());
        keep(elements(i % 5));
        keep(multi());
        keep(cube());
        keep(floats(i % 7));
        keep(both());
        keep(looped(i));
        keep(thrown());
        keep(copied());
        keep(boxed(i));
        keep(concat(i));
        keep(lambda(i));
        keep(new Outer());
        keep(sheep.clone());
    }

    static void expect(String type, int count, String name) {
        System.out.println("expect " + type + " " + count + " " + name);
    }

    public static void main(String[] args) throws Exception {
        rounds = Integer.parseInt(args[0]);
        kept = new Object[rounds * 18];
        Sheep sheep = new Sheep();
        for (int i = 0; i < rounds; i++) round(i, sheep);
        Judge.both();
        expect("Sites$Plain", rounds, "plain");
        expect("Sites$Second", rounds, "second");
        expect("Sites$Inlined", 2 * rounds, "inner");
        expect("Sites$DeepInlined", rounds, "deep0");
        expect("Sites$Element[]", rounds, "elements");
        expect("short[][]", rounds, "multi");
        expect("short[]", 3 * rounds, "multi");
        expect("double[][][]", rounds, "cube");
        expect("double[][]", 2 * rounds, "cube");
        expect("double[]", 6 * rounds, "cube");
        expect("float[]", rounds, "floats");
        expect("Sites$FirstOfTwo", rounds, "first");
        expect("Sites$SecondOfTwo", rounds, "secondOfTwo");
        expect("Sites$Looped[]", rounds, "loopedArray");
        expect("Sites$Looped", 4 * rounds, "looped");
        expect("Sites$Thrown", rounds, "thrown");
        expect("Sites$Copied[]", rounds, "copyOf");
        expect("java.lang.Float", rounds, "boxed");
        expect("Sites$Sheep", rounds, "clone");
    }
}
