// SPDX-License-Identifier: Apache-2.0
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Makes objects that all live, more than the heap has room to copy,
 * and prints the most memory in KB that the process ever had.
 */
public final class Staying {
    static final class Small {
        Small next;
        long value;
    }

    private static Small head;

    public static void main(String[] args) throws Exception {
        for (int i = Integer.parseInt(args[0]); i > 0; i--) {
            Small small = new Small();
            small.next = head;
            head = small;
        }
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM")) System.out.println(line.replaceAll("[^0-9]", ""));
        }
    }
}
