// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.File;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import javax.xml.transform.ErrorListener;
import javax.xml.transform.Templates;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.xalan.processor.TransformerFactoryImpl;

/** Xalan runs the DocBook stylesheets over a book, on two threads; a checksum of the HTML. */
public final class Xalan extends Workload {
    private static final class Strict implements ErrorListener {
        @Override public void warning(TransformerException e) {}

        @Override public void error(TransformerException e) throws TransformerException {
            throw e;
        }

        @Override public void fatalError(TransformerException e) throws TransformerException {
            throw e;
        }
    }

    private final String document;
    private final Templates templates;

    private Xalan(String archive, String stylesheet, int characters) throws Exception {
        document = new Documents(archive, characters).docbook4();
        TransformerFactoryImpl factory = new TransformerFactoryImpl();
        factory.setErrorListener(new Strict());
        templates = factory.newTemplates(new StreamSource(new File(stylesheet)));
    }

    @Override long iterate() throws Exception {
        return inParallel(2, thread -> {
            StringWriter out = new StringWriter();
            Transformer transformer = templates.newTransformer();
            transformer.setErrorListener(new Strict());
            transformer.transform(new StreamSource(new StringReader(document)), new StreamResult(out));
            CRC32 crc = new CRC32();
            crc.update(out.toString().getBytes(StandardCharsets.UTF_8));
            return crc.getValue() << 24 | out.getBuffer().length();
        });
    }

    public static void main(String[] args) throws Exception {
        String stylesheet = option(args, "--stylesheet",
                "/usr/share/xml/docbook/stylesheet/docbook-xsl/html/docbook.xsl");
        new Xalan(Inputs.archive(args), stylesheet, small(args) ? 30_000 : 400_000).measure(args);
    }
}
