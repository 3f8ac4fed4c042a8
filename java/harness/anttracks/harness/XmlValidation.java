// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.File;
import java.io.StringReader;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.validation.Schema;
import javax.xml.validation.Validator;
import org.apache.xerces.jaxp.DocumentBuilderFactoryImpl;
import org.apache.xerces.jaxp.validation.XMLSchemaFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Node;
import org.xml.sax.ErrorHandler;
import org.xml.sax.InputSource;
import org.xml.sax.SAXParseException;

/** Xerces builds the tree of a DocBook 5 book and validates it against DocBook's XML schema, on two threads. */
public final class XmlValidation extends Workload {
    private static final class Counter implements ErrorHandler {
        long errors;

        @Override public void warning(SAXParseException e) {
            errors++;
        }

        @Override public void error(SAXParseException e) {
            errors++;
        }

        @Override public void fatalError(SAXParseException e) throws SAXParseException {
            throw e;
        }
    }

    private final String document;
    private final Schema schema;
    private final int rounds;

    private XmlValidation(String archive, String schema, boolean small) throws Exception {
        document = new Documents(archive, small ? 300_000 : 2_000_000).docbook5();
        this.schema = new XMLSchemaFactory().newSchema(new File(schema));
        rounds = small ? 1 : 3;
    }

    private static long nodes(Node node) {
        long sum = node.getNodeName().hashCode();
        for (Node child = node.getFirstChild(); child != null; child = child.getNextSibling()) {
            sum += nodes(child);
        }
        return sum;
    }

    private long validate(int thread) throws Exception {
        DocumentBuilderFactory factory = new DocumentBuilderFactoryImpl();
        factory.setNamespaceAware(true);
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            Document tree = factory.newDocumentBuilder().parse(new InputSource(new StringReader(document)));
            if (thread == 1) {
                // One thread has something to find: paragraphs are not allowed to have titles.
                Node para = tree.getElementsByTagName("para").item(i);
                para.appendChild(tree.createElementNS("http://docbook.org/ns/docbook", "chapter"));
            }
            Counter counter = new Counter();
            Validator validator = schema.newValidator();
            validator.setErrorHandler(counter);
            validator.validate(new DOMSource(tree));
            if ((counter.errors > 0) != (thread == 1)) {
                throw new IllegalStateException(counter.errors + " errors");
            }
            sum = sum * 31 + nodes(tree) + counter.errors;
        }
        return sum;
    }

    @Override long iterate() throws Exception {
        return inParallel(2, this::validate);
    }

    public static void main(String[] args) throws Exception {
        String schema = option(args, "--schema", "/usr/share/xml/docbook/schema/xsd/5.0/docbook.xsd");
        new XmlValidation(Inputs.archive(args), schema, small(args)).measure(args);
    }
}
