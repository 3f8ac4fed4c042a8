// SPDX-License-Identifier: Apache-2.0
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads a few thousand classes, a part of them initialised: java.lang.Class objects have sizes of their own.
 */
public final class Mirrors {
    private static final List<Class<?>> kept = new ArrayList<>();

    private static List<String> names() throws Exception {
        Path base = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base/java");
        try (Stream<Path> files = Files.walk(base)) {
            return files.map(Path::toString).filter(p -> p.endsWith(".class"))
                    .map(p -> p.substring("/modules/java.base/".length(), p.length() - 6).replace('/', '.'))
                    .sorted().collect(Collectors.toList());
        }
    }

    public static void main(String[] args) throws Exception {
        int count = 0;
        for (String name : names()) {
            boolean initialize = name.startsWith("java.util.concurrent.") && count % 3 == 0;
            Class<?> loaded = Class.forName(name, initialize, null);
            kept.add(loaded);
            if (count % 5 == 0) kept.add(java.lang.reflect.Array.newInstance(loaded, 0).getClass());
            if (++count % 1000 == 0) Judge.both();
        }
        Judge.both();
        System.out.println("classes " + (count > 2000));
    }
}
