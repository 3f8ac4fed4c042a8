// SPDX-License-Identifier: Apache-2.0
package anttracks.dumps;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Objects and bytes of fields or elements by class, of a dump in the format HPROF 1.0.2. The dump does not tell
 * how large objects are in the heap.
 */
final class Histogram {
    private static final int STRING = 0x01;
    private static final int LOAD_CLASS = 0x02;
    private static final int HEAP_DUMP = 0x0c;
    private static final int HEAP_DUMP_SEGMENT = 0x1c;
    /** Bytes of a value by its HPROF type; that of a reference is 2. */
    private static final int[] VALUE_SIZES = {0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8};
    private static final String[] PRIMITIVES = {"", "", "", "", "boolean", "char", "float", "double",
        "byte", "short", "int", "long"};
    private static final int REFERENCE = 2;
    private static final int IDENTIFIER = 8;

    private final File file;
    private final Map<Long, String> strings = new HashMap<>();
    private final Map<Long, String> names = new HashMap<>();
    private final Map<Long, long[]> byClass = new HashMap<>();
    private final TreeMap<String, long[]> result = new TreeMap<>();
    private DataInputStream in;
    /** Bytes of the segment that are still to be read. */
    private long left;

    Histogram(File file) {
        this.file = file;
    }

    Map<String, long[]> read() throws IOException {
        try (DataInputStream stream = new DataInputStream(
                new BufferedInputStream(new FileInputStream(file), 1 << 18))) {
            in = stream;
            while (in.readByte() != 0) {}
            if (in.readInt() != IDENTIFIER) throw new IOException(file + ": identifiers are not of 8 bytes");
            in.readLong();
            for (int tag = in.read(); tag >= 0; tag = in.read()) record(tag);
        }
        byClass.forEach((id, row) -> add(names.getOrDefault(id, "unknown"), row[0], row[1]));
        return result;
    }

    private void add(String name, long objects, long bytes) {
        long[] row = result.computeIfAbsent(name, key -> new long[2]);
        row[0] += objects;
        row[1] += bytes;
    }

    private void count(long classId, long bytes) {
        long[] row = byClass.computeIfAbsent(classId, key -> new long[2]);
        row[0]++;
        row[1] += bytes;
    }

    private void record(int tag) throws IOException {
        in.readInt();
        left = in.readInt() & 0xffffffffL;
        if (tag == STRING) {
            long id = id();
            byte[] bytes = new byte[(int) left];
            in.readFully(bytes);
            strings.put(id, new String(bytes, StandardCharsets.UTF_8));
        } else if (tag == LOAD_CLASS) {
            skip(4);
            long id = id();
            skip(4);
            names.put(id, sourceName(strings.get(id())));
        } else if (tag == HEAP_DUMP || tag == HEAP_DUMP_SEGMENT) {
            while (left > 0) object();
        } else {
            skip(left);
        }
    }

    /** `[Ljava/lang/String;` as java.lang.String[]. */
    private static String sourceName(String name) {
        int dimensions = name.lastIndexOf('[') + 1;
        String element = name.substring(dimensions);
        if (dimensions > 0) {
            int primitive = "ZCFDBSIJ".indexOf(element);
            element = primitive >= 0 ? PRIMITIVES[primitive + 4] : element.substring(1, element.length() - 1);
        }
        return element.replace('/', '.') + "[]".repeat(dimensions);
    }

    private void object() throws IOException {
        int tag = u1();
        switch (tag) {
            // root unknown, sticky class, monitor used
            case 0xff: case 0x05: case 0x07: skip(IDENTIFIER); break;
            case 0x01: skip(2 * IDENTIFIER); break;  // JNI global
            // JNI local, Java frame, thread object
            case 0x02: case 0x03: case 0x08: skip(IDENTIFIER + 8); break;
            case 0x04: case 0x06: skip(IDENTIFIER + 4); break;  // native stack, thread block
            case 0x20: classDump(); break;
            case 0x21: instance(); break;
            case 0x22: objectArray(); break;
            case 0x23: primitiveArray(); break;
            default: throw new IOException(file + ": unknown tag " + tag);
        }
    }

    private void instance() throws IOException {
        skip(IDENTIFIER + 4);
        long classId = id();
        long bytes = u4();
        skip(bytes);
        count(classId, bytes);
    }

    private void objectArray() throws IOException {
        skip(IDENTIFIER + 4);
        long bytes = u4() * IDENTIFIER;
        long classId = id();
        skip(bytes);
        count(classId, bytes);
    }

    private void primitiveArray() throws IOException {
        skip(IDENTIFIER + 4);
        long length = u4();
        int type = u1();
        long bytes = length * size(type);
        skip(bytes);
        add(PRIMITIVES[type] + "[]", 1, bytes);
    }

    private void classDump() throws IOException {
        skip(IDENTIFIER + 4 + 6 * IDENTIFIER + 4);
        for (int i = u2(); i > 0; i--) {
            skip(2);
            skip(size(u1()));
        }
        long bytes = 0;
        for (int i = u2(); i > 0; i--) {
            skip(IDENTIFIER);
            int value = size(u1());
            skip(value);
            bytes += value;
        }
        skip((long) u2() * (IDENTIFIER + 1));
        add("java.lang.Class", 1, bytes);
    }

    private int size(int type) throws IOException {
        if (type == REFERENCE) return IDENTIFIER;
        if (type < VALUE_SIZES.length && VALUE_SIZES[type] > 0) return VALUE_SIZES[type];
        throw new IOException(file + ": unknown type " + type);
    }

    private int u1() throws IOException {
        left--;
        return in.readUnsignedByte();
    }

    private int u2() throws IOException {
        left -= 2;
        return in.readUnsignedShort();
    }

    private long u4() throws IOException {
        left -= 4;
        return in.readInt() & 0xffffffffL;
    }

    private long id() throws IOException {
        left -= IDENTIFIER;
        return in.readLong();
    }

    private void skip(long bytes) throws IOException {
        left -= bytes;
        for (long more = bytes; more > 0; ) {
            long skipped = in.skip(more);
            if (skipped <= 0) {
                in.readByte();
                skipped = 1;
            }
            more -= skipped;
        }
    }
}
