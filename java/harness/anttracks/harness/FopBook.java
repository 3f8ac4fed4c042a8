// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.zip.CRC32;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.FOUserAgent;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;

/**
 * FOP formats a book with running heads, justified text and tables as PDF;
 * a checksum of the file without its dates.
 */
public final class FopBook extends Workload {
    private final String document;
    private final FopFactory factory = FopFactory.newInstance(URI.create("file:///"));

    private FopBook(String archive, int characters) throws Exception {
        document = new Documents(archive, characters).formattingObjects();
    }

    @Override long iterate() throws Exception {
        FOUserAgent agent = factory.newFOUserAgent();
        agent.setCreationDate(new Date(0));
        // Its events are about overfull lines, which a book made of code has.
        agent.getEventBroadcaster().addEventListener(event -> {});
        ByteArrayOutputStream pdf = new ByteArrayOutputStream();
        Fop fop = factory.newFop(MimeConstants.MIME_PDF, agent, pdf);
        TransformerFactory.newDefaultInstance().newTransformer().transform(
                new StreamSource(new StringReader(document)), new SAXResult(fop.getDefaultHandler()));
        String text = pdf.toString(StandardCharsets.ISO_8859_1)
                .replaceAll("<xmp:MetadataDate>[^<]*</xmp:MetadataDate>|/ID \\[[^\\]]*\\]", "");
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.ISO_8859_1));
        return crc.getValue() << 16 | fop.getResults().getPageCount();
    }

    public static void main(String[] args) throws Exception {
        new FopBook(Inputs.archive(args), small(args) ? 100_000 : 700_000).measure(args);
    }
}
