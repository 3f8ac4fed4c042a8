// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.List;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Class files from text, by the JDK's own compiler, in memory. */
final class Versions {
    private Versions() {}

    /** The class file of the one class of the name that the text declares, with debug information. */
    static byte[] compile(String name, String text) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        JavaFileObject source = new SimpleJavaFileObject(URI.create("string:///" + name + ".java"),
                JavaFileObject.Kind.SOURCE) {
            @Override public CharSequence getCharContent(boolean ignored) {
                return text;
            }
        };
        JavaFileObject result = new SimpleJavaFileObject(URI.create("bytes:///" + name + ".class"),
                JavaFileObject.Kind.CLASS) {
            @Override public OutputStream openOutputStream() {
                return bytes;
            }
        };
        JavaFileManager files = new ForwardingJavaFileManager<>(
                compiler.getStandardFileManager(null, null, null)) {
            @Override public JavaFileObject getJavaFileForOutput(Location where, String type,
                    JavaFileObject.Kind kind, FileObject from) {
                return result;
            }
        };
        List<String> options = List.of("-g", "-cp", System.getProperty("java.class.path"));
        if (!compiler.getTask(null, files, null, options, null, List.of(source)).call()) {
            throw new IllegalStateException(text);
        }
        return bytes.toByteArray();
    }
}
