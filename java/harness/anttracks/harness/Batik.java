// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.awt.image.BufferedImage;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.batik.transcoder.TranscoderInput;
import org.apache.batik.transcoder.TranscoderOutput;
import org.apache.batik.transcoder.image.ImageTranscoder;

/**
 * Batik renders generated drawings with paths, gradients, filters, clips and text, on two threads;
 * a hash of the pixels.
 */
public final class Batik extends Workload {
    private static final class Hash extends ImageTranscoder {
        long sum;

        @Override public BufferedImage createImage(int width, int height) {
            return new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        }

        @Override public void writeImage(BufferedImage image, TranscoderOutput output) {
            int[] pixels = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth());
            for (int pixel : pixels) sum = sum * 31 + pixel;
        }
    }

    private final List<String> drawings = new ArrayList<>();
    private final float width;

    private Batik(int count, int shapes, float width) {
        this.width = width;
        for (int i = 0; i < count; i++) drawings.add(draw(new SplittableRandom(i), shapes));
    }

    private static String colour(SplittableRandom random) {
        return String.format("#%06x", random.nextInt(1 << 24));
    }

    private static String draw(SplittableRandom random, int shapes) {
        StringBuilder svg = new StringBuilder(
                "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='400'><defs>");
        for (int i = 0; i < 4; i++) {
            for (String kind : new String[] {"linear", "radial"}) {
                svg.append(String.format("<%1$sGradient id='%1$s%2$d'><stop offset='0.1' stop-color='%3$s'/>"
                        + "<stop offset='1' stop-color='%4$s'/></%1$sGradient>",
                        kind, i, colour(random), colour(random)));
            }
        }
        svg.append("<filter id='blur'><feGaussianBlur stdDeviation='2'/></filter>")
                .append("<clipPath id='clip'><circle cx='200' cy='200' r='180'/></clipPath></defs>");
        for (int i = 0; i < shapes; i++) shape(svg, random);
        return svg.append("</svg>").toString();
    }

    private static void shape(StringBuilder svg, SplittableRandom random) {
        int x = random.nextInt(380);
        int y = random.nextInt(380);
        switch (random.nextInt(6)) {
            case 0 -> svg.append(String.format(
                    "<rect x='%d' y='%d' width='%d' height='40' rx='5' fill='url(#linear%d)'/>",
                    x, y, random.nextInt(10, 100), random.nextInt(4)));
            case 1 -> svg.append(String.format(
                    "<circle cx='%d' cy='%d' r='%d' fill='url(#radial%d)' fill-opacity='0.7'/>",
                    x, y, random.nextInt(5, 60), random.nextInt(4)));
            case 2 -> {
                svg.append("<path fill='none' stroke-width='2' stroke-dasharray='6 3' stroke='")
                        .append(colour(random)).append("' d='M").append(x).append(' ').append(y);
                for (int i = 0; i < 8; i++) {
                    svg.append(" C");
                    for (int n = 0; n < 6; n++) svg.append(random.nextInt(400)).append(' ');
                }
                svg.append("'/>");
            }
            case 3 -> svg.append(String.format("<text x='%d' y='%d' font-family='DejaVu Sans' font-size='%d' "
                    + "transform='rotate(%d %d %d)' fill='%s'>drawn %d</text>", x, y, random.nextInt(8, 30),
                    random.nextInt(360), x, y, colour(random), random.nextInt(1000)));
            case 4 -> svg.append(String.format(
                    "<g clip-path='url(#clip)'><ellipse cx='%d' cy='%d' rx='70' ry='20'"
                    + " fill='%s'/></g>", x, y, colour(random)));
            default -> svg.append(String.format(
                    "<polygon filter='url(#blur)' points='%d,%d %d,%d %d,%d' fill='%s'/>",
                    x, y, x + random.nextInt(60), y + 10, x + 5, y + random.nextInt(60), colour(random)));
        }
    }

    @Override long iterate() throws Exception {
        return inParallel(2, thread -> {
            long sum = 0;
            for (int i = thread; i < drawings.size(); i += 2) {
                Hash hash = new Hash();
                hash.addTranscodingHint(ImageTranscoder.KEY_WIDTH, width);
                hash.transcode(new TranscoderInput(new StringReader(drawings.get(i))), null);
                sum = sum * 31 + hash.sum;
            }
            return sum;
        });
    }

    public static void main(String[] args) throws Exception {
        boolean small = small(args);
        new Batik(small ? 2 : 6, small ? 60 : 400, small ? 256 : 384).measure(args);
    }
}
