// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.InputStream;

/** A loader whose one class is defined from bytes that the application's loader has, too. */
final class OwnLoader extends ClassLoader {
    private final byte[] bytes;

    OwnLoader(byte[] bytes) {
        super(null);
        this.bytes = bytes;
    }

    /** The class file of a nested class, such as Some$Nested. */
    static byte[] bytesOf(Class<?> nested) throws IOException {
        try (InputStream in = nested.getResourceAsStream(nested.getName() + ".class")) {
            return in.readAllBytes();
        }
    }

    @Override protected Class<?> findClass(String name) {
        return defineClass(name, bytes, 0, bytes.length);
    }
}
