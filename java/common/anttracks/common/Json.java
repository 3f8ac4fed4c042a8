// SPDX-License-Identifier: Apache-2.0
package anttracks.common;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

/** Writes JSON as it comes; an object or array that is opened inside another gets a line of its own. */
public final class Json implements Closeable {
    private final Writer out;
    private boolean first = true;

    public Json(File file) throws IOException {
        out = Files.newBufferedWriter(file.toPath(), StandardCharsets.UTF_8);
    }

    private void separate(String name) throws IOException {
        if (!first) out.write(", ");
        first = false;
        if (name != null) {
            quote(name);
            out.write(": ");
        }
    }

    /** NAME is null inside an array and at the top. */
    public void open(String name, char bracket) throws IOException {
        boolean inner = !first || name != null;
        separate(name);
        if (inner && name == null) out.write("\n ");
        out.write(bracket);
        first = true;
    }

    public void close(char bracket) throws IOException {
        out.write(bracket);
        first = false;
    }

    public void put(String name, long value) throws IOException {
        separate(name);
        out.write(Long.toString(value));
    }

    public void put(String name, double value) throws IOException {
        separate(name);
        out.write(String.format(java.util.Locale.ROOT, "%.3f", value));
    }

    public void put(String name, String value) throws IOException {
        separate(name);
        if (value == null) out.write("null");
        else quote(value);
    }

    private void quote(String text) throws IOException {
        out.write('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') out.write('\\');
            // A lone surrogate cannot be encoded; class names may have them.
            if (c < ' ' || Character.isSurrogate(c)) out.write(String.format("\\u%04x", (int) c));
            else out.write(c);
        }
        out.write('"');
    }

    @Override public void close() throws IOException {
        out.write('\n');
        out.close();
    }
}
