// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The allocation sites that the weaver has seen, and the sizes of what they allocate. Added to under the
 * class's lock; read without: a site's number reaches other threads only in code that is loaded after the site
 * was added.
 */
public final class Sites {
    /** What a site allocates: its size is fixed, follows from the length, or must be asked for each time. */
    public enum Kind { INSTANCE, ARRAY, CLONE }

    static final class Site {
        final String type;
        final String frame;
        final int bci;
        final Kind kind;
        final WeakReference<ClassLoader> loader;

        Site(String type, String frame, int bci, Kind kind, ClassLoader loader) {
            this.type = type;
            this.frame = frame;
            this.bci = bci;
            this.kind = kind;
            this.loader = loader == null ? null : new WeakReference<>(loader);
        }
    }

    private static final int VARIES = -1;
    private static final List<Site> SITES = new ArrayList<>();
    /** Bytes of an instance, 0 until one was seen, or VARIES; for arrays the bytes of an element. */
    private static volatile int[] sizes = new int[1024];
    private static Instrumentation instrumentation;
    private static int alignment;
    private static int arrayHeader;
    private static int referenceSize;

    private Sites() {}

    static void start(Instrumentation given) {
        instrumentation = given;
        long empty = given.getObjectSize(new byte[0]);
        int fits = 0;
        while (given.getObjectSize(new byte[fits + 1]) == empty) fits++;
        arrayHeader = (int) empty - fits;
        alignment = (int) (given.getObjectSize(new byte[fits + 1]) - empty);
        long references = given.getObjectSize(new Object[1 << 12]) - given.getObjectSize(new Object[0]);
        referenceSize = (int) references >> 12;
    }

    /** FRAME is `Class.method(File:line)`; TYPE as in the source, `java.lang.String[]`. */
    public static synchronized int add(String type, String frame, int bci, Kind kind, ClassLoader loader) {
        int number = SITES.size();
        if (number == sizes.length) sizes = Arrays.copyOf(sizes, number * 2);
        sizes[number] = kind == Kind.INSTANCE ? 0 : kind == Kind.ARRAY ? elementSize(type) : VARIES;
        SITES.add(new Site(type, frame, bci, kind, loader));
        return number;
    }

    static synchronized Site get(int number) {
        return SITES.get(number);
    }

    private static int elementSize(String type) {
        switch (type) {
            case "boolean[]": case "byte[]": return 1;
            case "char[]": case "short[]": return 2;
            case "int[]": case "float[]": return 4;
            case "long[]": case "double[]": return 8;
            default: return referenceSize;
        }
    }

    static long arraySize(int length, int number) {
        return arrayHeader + (long) length * sizes[number] + alignment - 1 & -alignment;
    }

    static long arraySize(Object array, int number) {
        return arraySize(Array.getLength(array), number);
    }

    static long size(Object object, int number) {
        int known = sizes[number];
        return known > 0 ? known : measure(object, number);
    }

    private static long measure(Object object, int number) {
        long size = instrumentation.getObjectSize(object);
        synchronized (Sites.class) {
            if (sizes[number] == 0) sizes[number] = (int) size;
        }
        return size;
    }

    /**
     * In mode=count no instance reaches the recorder, so that escape analysis may still remove it: the size is
     * that of an instance made now, without a constructor. 0 when that is not possible.
     */
    static long instanceSize(int number) {
        Site site = get(number);
        if (sizes[number] > 0) return sizes[number];
        ClassLoader loader = site.loader == null ? null : site.loader.get();
        if (loader == null && site.loader != null) return 0;
        try {
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            java.lang.reflect.Field field = unsafe.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Object made = unsafe.getMethod("allocateInstance", Class.class)
                    .invoke(field.get(null), Class.forName(site.type, false, loader));
            return measure(made, number);
        } catch (ReflectiveOperationException | LinkageError e) {
            return 0;
        }
    }
}
