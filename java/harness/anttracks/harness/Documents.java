// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A book of a wanted size, made of the doc comments of java.base: as DocBook 4, DocBook 5 or XSL-FO. */
final class Documents {
    private record Tag(String name, String text) {}

    private record Section(String title, List<String> paragraphs, List<Tag> tags, String code) {}

    private record Chapter(String title, List<Section> sections) {}

    private final List<Chapter> chapters = new ArrayList<>();

    /** @param characters how many the text has, about; the markup comes on top. */
    Documents(String archive, int characters) throws IOException {
        int size = 0;
        for (Inputs.Text source : Inputs.sources(archive, "java.base/java/util/")) {
            Chapter chapter = new Chapter(source.name(), new ArrayList<>());
            String text = source.content();
            for (int begin = text.indexOf("/**"); begin >= 0 && size < characters; ) {
                int end = text.indexOf("*/", begin);
                if (end < 0) break;
                Section section = section(text.substring(begin + 3, end), declaration(text, end + 2));
                if (section.paragraphs().size() > 0) {
                    chapter.sections().add(section);
                    size += end - begin;
                }
                begin = text.indexOf("/**", end);
            }
            if (!chapter.sections().isEmpty()) chapters.add(chapter);
            if (size >= characters) return;
        }
        throw new IOException(archive + " has only " + size + " characters of comments");
    }

    private static String declaration(String text, int from) {
        int end = from;
        while (end < text.length() && end < from + 300 && text.charAt(end) != '{' && text.charAt(end) != ';') {
            end++;
        }
        return plain(text.substring(from, end).strip());
    }

    private static Section section(String comment, String code) {
        List<String> paragraphs = new ArrayList<>();
        List<Tag> tags = new ArrayList<>();
        String body = comment.replaceAll("(?m)^\\s*\\* ?", "").replaceAll("\\{@\\w+\\s+([^{}]*)\\}", "$1");
        for (String block : body.split("\\n\\s*\\n|<p>|(?m)^(?=@)")) {
            String text = plain(block.replaceAll("<[^>]*>", "").strip());
            if (text.isEmpty()) continue;
            if (text.startsWith("@")) {
                int space = (text + " ").indexOf(' ');
                tags.add(new Tag(text.substring(1, space), text.substring(space)));
            } else {
                paragraphs.add(text);
            }
        }
        String first = paragraphs.isEmpty() ? "" : paragraphs.get(0);
        return new Section(first.substring(0, Math.min(50, first.length())), paragraphs, tags, code);
    }

    /** As XML text: markup escaped, white space folded, nothing but ASCII. */
    private static String plain(String text) {
        return text.replaceAll("\\s+", " ").replaceAll("[^ -~]", "?")
                .replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    /** DocBook 4, which has no namespace, and no DTD here: a parser would fetch it. */
    String docbook4() {
        return docbook("<book>", "id");
    }

    String docbook5() {
        return docbook("<book xmlns=\"http://docbook.org/ns/docbook\" version=\"5.0\">", "xml:id");
    }

    private String docbook(String root, String id) {
        StringBuilder out = new StringBuilder("<?xml version=\"1.0\"?>\n").append(root)
                .append("<title>Comments</title>\n");
        int number = 0;
        for (Chapter chapter : chapters) {
            out.append(String.format("<chapter %s='c%d'><title>%s</title>%n", id, number++, chapter.title()));
            for (Section section : chapter.sections()) {
                out.append(String.format("<section %s='s%d'><title>%s</title>%n", id, number++,
                        section.title()));
                for (String paragraph : section.paragraphs()) {
                    out.append("<para>").append(paragraph).append("</para>\n");
                }
                if (!section.tags().isEmpty()) {
                    out.append("<variablelist>\n");
                    for (Tag tag : section.tags()) {
                        out.append("<varlistentry><term>").append(tag.name()).append("</term><listitem><para>")
                                .append(tag.text()).append("</para></listitem></varlistentry>\n");
                    }
                    out.append("</variablelist>\n");
                }
                out.append("<programlisting>").append(section.code()).append("</programlisting></section>\n");
            }
            out.append("</chapter>\n");
        }
        return out.append("</book>\n").toString();
    }

    String formattingObjects() {
        StringBuilder out = new StringBuilder("""
                <?xml version="1.0"?>
                <fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format"><fo:layout-master-set>
                <fo:simple-page-master master-name="page" page-width="210mm" page-height="297mm" margin="20mm">
                <fo:region-body margin="10mm"/><fo:region-before extent="10mm"/><fo:region-after extent="10mm"/>
                </fo:simple-page-master></fo:layout-master-set>
                """);
        for (Chapter chapter : chapters) {
            out.append("<fo:page-sequence master-reference=\"page\">")
                    .append("<fo:static-content flow-name=\"xsl-region-before\"><fo:block>")
                    .append(chapter.title()).append(", page <fo:page-number/></fo:block></fo:static-content>\n")
                    .append("<fo:flow flow-name=\"xsl-region-body\" "
                            + "font-family=\"Times\" font-size=\"9pt\">\n");
            for (Section section : chapter.sections()) appendBlocks(out, section);
            out.append("</fo:flow></fo:page-sequence>\n");
        }
        return out.append("</fo:root>\n").toString();
    }

    private static void appendBlocks(StringBuilder out, Section section) {
        out.append("<fo:block font-weight=\"bold\" space-before=\"8pt\" keep-with-next=\"always\">")
                .append(section.title()).append("</fo:block>\n");
        for (String paragraph : section.paragraphs()) {
            out.append("<fo:block text-align=\"justify\" space-before=\"4pt\">").append(paragraph)
                    .append("</fo:block>\n");
        }
        if (!section.tags().isEmpty()) {
            out.append(
                    "<fo:table table-layout=\"fixed\" width=\"100%\"><fo:table-column column-width=\"25mm\"/>")
                    .append("<fo:table-column column-width=\"100mm\"/><fo:table-body>\n");
            for (Tag tag : section.tags()) {
                out.append("<fo:table-row><fo:table-cell><fo:block font-style=\"italic\">").append(tag.name())
                        .append("</fo:block></fo:table-cell><fo:table-cell><fo:block>").append(tag.text())
                        .append("</fo:block></fo:table-cell></fo:table-row>\n");
            }
            out.append("</fo:table-body></fo:table>\n");
        }
        out.append("<fo:block font-family=\"Courier\" font-size=\"7pt\">").append(section.code())
                .append("</fo:block>\n");
    }
}
