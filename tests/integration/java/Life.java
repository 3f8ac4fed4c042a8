// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.locks.LockSupport;

/** Ends in the way that the first argument names; prints the same lines with and without an agent. */
public final class Life {
    static Object sink;

    private static void churn(int steps) {
        for (int i = 0; i < steps; i++) sink = new Object[] {"churn" + i, new int[i % 100]};
    }

    public static void main(String[] args) throws Exception {
        System.out.println("begin");
        System.err.println("to stderr");
        churn(300_000);
        switch (args[0]) {
            case "return":
                break;
            case "exit":
                Runtime.getRuntime().addShutdownHook(new Thread(() -> churn(1000)));
                System.exit(7);
                break;
            case "halt":
                Runtime.getRuntime().halt(9);
                break;
            case "throw":
                throw new IllegalStateException("on purpose");
            case "daemon":
                Thread daemon = new Thread(() -> {
                    while (true) churn(1000);
                });
                daemon.setDaemon(true);
                daemon.start();
                break;
            case "forever":
                System.out.println("running");
                while (true) {
                    churn(1000);
                    LockSupport.parkNanos(1000);
                }
            default:
                throw new IllegalArgumentException(args[0]);
        }
        System.out.println("end");
    }
}
