// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.awt.image.BufferedImage;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import org.sunflow.Benchmark;

/** Sunflow renders the scene of its own benchmark on two threads; a hash of the pixels. */
public final class Sunflow extends Workload {
    private final int resolution;
    private final Field pixels;

    private Sunflow(int resolution) throws Exception {
        this.resolution = resolution;
        makeReference(resolution);
        pixels = Benchmark.class.getDeclaredField("validationImage");
        pixels.setAccessible(true);
    }

    /**
     * The benchmark does not start without a reference picture on the class path,
     * and Debian's package has none.
     */
    private static void makeReference(int resolution) throws Exception {
        Path classes = Path.of(Sunflow.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path picture = classes.resolve(String.format("resources/golden_%04X.png", resolution));
        if (Files.exists(picture)) return;
        Files.createDirectories(picture.getParent());
        ImageIO.write(new BufferedImage(resolution, resolution, BufferedImage.TYPE_INT_RGB), "png",
                picture.toFile());
    }

    @Override long iterate() throws Exception {
        Benchmark benchmark = new Benchmark(resolution, false, false, false, 2, false);
        benchmark.kernelBegin();
        benchmark.kernelMain();
        // Not kernelEnd(): it would compare the pixels with those of the reference.
        int[] image = (int[]) pixels.get(benchmark);
        long sum = 0;
        for (int pixel : image) sum = sum * 31 + pixel;
        return sum;
    }

    public static void main(String[] args) throws Exception {
        new Sunflow(small(args) ? 64 : 256).measure(args);
    }
}
