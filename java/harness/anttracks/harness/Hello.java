// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

/** Next to nothing: what a run of it takes is the start and the end of a JVM. */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) {
        System.out.println("hello");
    }
}
