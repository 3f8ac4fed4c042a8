// SPDX-License-Identifier: Apache-2.0
package anttracks.common;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Agent options, `name=value,name=value`: strict, and what it throws says what would have been right. */
public final class Options {
    private final Map<String, String> values = new LinkedHashMap<>();

    public Options(String text, String... valid) {
        if (text == null || text.isEmpty()) return;
        for (String part : text.split(",", -1)) {
            int equals = part.indexOf('=');
            String name = equals < 0 ? part : part.substring(0, equals);
            if (!Arrays.asList(valid).contains(name)) {
                throw new IllegalArgumentException("unknown option '" + name + "' (valid: "
                        + String.join(", ", valid) + ")");
            }
            if (equals < 0 || equals == part.length() - 1) {
                throw new IllegalArgumentException(name + "= has no value");
            }
            if (values.put(name, part.substring(equals + 1)) != null) {
                throw new IllegalArgumentException(name + "= is given twice");
            }
        }
    }

    public boolean given(String name) {
        return values.containsKey(name);
    }

    public String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    /** One of the words; the first is the default. */
    public String choice(String name, String... valid) {
        String value = values.getOrDefault(name, valid[0]);
        if (Arrays.asList(valid).contains(value)) return value;
        throw new IllegalArgumentException(name + "=" + value + " is unknown (valid: "
                + String.join(", ", valid) + ")");
    }

    public boolean yes(String name, boolean otherwise) {
        return given(name) ? choice(name, "no", "yes").equals("yes") : otherwise;
    }

    public int number(String name, int otherwise, int least, int most) {
        if (!given(name)) return otherwise;
        try {
            int value = Integer.parseInt(values.get(name));
            if (value >= least && value <= most) return value;
        } catch (NumberFormatException e) {
            // told below, like a number that is out of range
        }
        throw new IllegalArgumentException(name + "=" + values.get(name) + " is not a number (valid: " + least
                + " to " + most + ")");
    }

    /** A number of bytes, which may end in K, M or G. */
    public long size(String name, long otherwise) {
        if (!given(name)) return otherwise;
        String value = values.get(name);
        int unit = "KMG".indexOf(Character.toUpperCase(value.charAt(value.length() - 1)));
        try {
            long number = Long.parseLong(unit < 0 ? value : value.substring(0, value.length() - 1));
            int shift = 10 * (unit + 1);
            if (number > 0 && number <= Long.MAX_VALUE >> shift) return number << shift;
        } catch (NumberFormatException e) {
            // told below
        }
        throw new IllegalArgumentException(name + "=" + value
                + " is not a size (valid: bytes, or a number with K, M or G)");
    }

    /** Parts separated by colons, as in a class path. */
    public List<String> list(String name) {
        List<String> parts = new ArrayList<>();
        for (String part : values.getOrDefault(name, "").split(":")) {
            if (!part.isEmpty()) parts.add(part);
        }
        return parts;
    }

    /** A file that will be written at the end: a folder that is missing is better known at the start. */
    public File file(String name, String otherwise) {
        File file = new File(text(name, otherwise)).getAbsoluteFile();
        if (file.isDirectory()) throw new IllegalArgumentException(name + "=" + file + " is a directory");
        if (!file.getParentFile().isDirectory()) {
            throw new IllegalArgumentException(name + "=" + file + ": " + file.getParent()
                    + " is not a directory");
        }
        return file;
    }
}
