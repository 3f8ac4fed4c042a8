// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/**
 * The JDK's XSLT compiler turns a DocBook book into HTML with contents, numbers, an index by key,
 * and sorted lists.
 */
public final class XmlTransform extends Workload {
    private static final String STYLESHEET = """
            <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
            <xsl:output method="html" indent="yes"/>
            <xsl:key name="term" match="varlistentry" use="term"/>
            <xsl:key name="title" match="section" use="substring(title, 1, 1)"/>
            <xsl:template match="/book"><html><head><title><xsl:value-of select="title"/></title></head><body>
              <ul><xsl:for-each select="chapter"><xsl:sort select="count(section)" data-type="number" \
            order="descending"/>
                <xsl:sort select="title"/><li><a href="#{@id}"><xsl:value-of select="title"/></a>:
                <xsl:value-of select="count(section)"/> sections, <xsl:value-of select="count(.//para)"/> \
            paragraphs</li>
              </xsl:for-each></ul>
              <xsl:apply-templates select="chapter"/>
              <h1>Index</h1>
              <xsl:for-each select="chapter/section[generate-id() = generate-id(key('title', \
            substring(title, 1, 1))[1])]">
                <xsl:sort select="substring(title, 1, 1)"/><h2><xsl:value-of select="\
            substring(title, 1, 1)"/></h2>
                <xsl:for-each select="key('title', substring(title, 1, 1))"><xsl:sort select="title"/>
                  <a href="#{@id}"><xsl:value-of select="normalize-space(title)"/></a></xsl:for-each>
              </xsl:for-each>
              <p><xsl:value-of select="count(key('term', 'param'))"/> parameters</p></body></html>\
            </xsl:template>
            <xsl:template match="chapter"><h1 id="{@id}"><xsl:number/>. <xsl:value-of select="title"/></h1>
              <xsl:apply-templates select="section"/></xsl:template>
            <xsl:template match="section"><h2 id="{@id}"><xsl:number level="multiple" \
            count="chapter|section" format="1.a"/>
              <xsl:text> </xsl:text><xsl:value-of select="title"/></h2>
              <xsl:apply-templates select="para|variablelist|programlisting"/></xsl:template>
            <xsl:template match="para"><p><xsl:call-template name="words">\
            <xsl:with-param name="text" select="normalize-space()"/>
              <xsl:with-param name="left" select="12"/></xsl:call-template></p></xsl:template>
            <xsl:template name="words"><xsl:param name="text"/><xsl:param name="left"/><xsl:choose>
              <xsl:when test="$left > 0 and contains($text, ' ')"><xsl:value-of \
            select="substring-before($text, ' ')"/><br/>
                <xsl:call-template name="words"><xsl:with-param name="text" select="\
            substring-after($text, ' ')"/>
                <xsl:with-param name="left" select="$left - 1"/></xsl:call-template></xsl:when>
              <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise></xsl:choose></xsl:template>
            <xsl:template match="variablelist"><dl><xsl:for-each select="varlistentry"><xsl:sort select="term"/>
              <xsl:sort select="string-length(listitem)" data-type="number"/><dt>\
            <xsl:value-of select="term"/></dt>
              <dd><xsl:apply-templates select="listitem/para"/></dd></xsl:for-each></dl></xsl:template>
            <xsl:template match="programlisting"><pre><xsl:value-of select="translate(., '(),', '   ')"/>\
            </pre></xsl:template>
            </xsl:stylesheet>
            """;

    private final Templates templates;
    private final String document;

    private XmlTransform(String archive, int characters) throws Exception {
        document = new Documents(archive, characters).docbook4();
        templates = TransformerFactory.newDefaultInstance()
                .newTemplates(new StreamSource(new StringReader(STYLESHEET)));
    }

    @Override long iterate() throws Exception {
        return inParallel(2, thread -> {
            StringWriter out = new StringWriter();
            templates.newTransformer().transform(new StreamSource(new StringReader(document)),
                    new StreamResult(out));
            CRC32 crc = new CRC32();
            crc.update(out.toString().getBytes(StandardCharsets.UTF_8));
            return crc.getValue() << 24 | out.getBuffer().length();
        });
    }

    public static void main(String[] args) throws Exception {
        new XmlTransform(Inputs.archive(args), small(args) ? 400_000 : 2_000_000).measure(args);
    }
}
