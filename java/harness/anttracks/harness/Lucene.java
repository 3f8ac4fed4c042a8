// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** Lucene indexes the sources of java.base in memory, or searches such an index on four threads. Fixed seed. */
public final class Lucene extends Workload {
    private static final int THREADS = 4;

    private final boolean searches;
    private final int queries;  // of each thread
    private final List<Inputs.Text> texts;
    private final List<String> words = new ArrayList<>();
    private IndexSearcher searcher;

    private Lucene(boolean searches, String archive, boolean small) throws IOException {
        this.searches = searches;
        texts = Inputs.sources(archive, small ? "java.base/java/util/concurrent/" : "java.base/java/");
        queries = small ? 150 : 1000;
        if (!searches) return;
        for (Inputs.Text text : texts) {
            String beginning = text.content().substring(0, Math.min(20_000, text.content().length()));
            for (String word : beginning.split("[^A-Za-z]+")) {
                // No shorter ones: NOT and its like would be operators.
                if (word.length() > 3) words.add(word);
            }
        }
        Directory directory = new ByteBuffersDirectory();
        fill(directory);
        searcher = new IndexSearcher(DirectoryReader.open(directory));
    }

    private void fill(Directory directory) throws IOException {
        // Merging in the writing thread makes the segments, and so the order of hits, the same every time.
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer())
                .setMergeScheduler(new SerialMergeScheduler())
                .setMaxBufferedDocs(100).setRAMBufferSizeMB(IndexWriterConfig.DISABLE_AUTO_FLUSH);
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            for (Inputs.Text text : texts) {
                Document document = new Document();
                document.add(new StringField("name", text.name(), Field.Store.YES));
                document.add(new TextField("text", text.content(), Field.Store.NO));
                document.add(new IntPoint("length", text.content().length()));
                writer.addDocument(document);
            }
            writer.commit();
        }
    }

    private String query(SplittableRandom random) {
        String one = words.get(random.nextInt(words.size()));
        String two = words.get(random.nextInt(words.size()));
        return switch (random.nextInt(6)) {
            case 0 -> one;
            case 1 -> one + " AND " + two;
            case 2 -> one + " OR " + two;
            case 3 -> "\"" + one + " " + two + "\"~20";
            case 4 -> one.substring(0, 3) + "*";
            default -> one + "~1";
        };
    }

    private long search(int thread) throws Exception {
        Analyzer analyzer = new StandardAnalyzer();
        SplittableRandom random = new SplittableRandom(thread);
        long sum = 0;
        for (int i = 0; i < queries; i++) {
            TopDocs top = searcher.search(new QueryParser("text", analyzer).parse(query(random)), 10);
            sum = sum * 31 + top.totalHits.value;
            for (ScoreDoc hit : top.scoreDocs) sum = sum * 31 + searcher.doc(hit.doc).get("name").hashCode();
        }
        return sum;
    }

    private long index() throws IOException {
        Directory directory = new ByteBuffersDirectory();
        fill(directory);
        long sum = 0;
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            for (LeafReaderContext leaf : reader.leaves()) {
                Terms terms = leaf.reader().terms("text");
                TermsEnum each = terms.iterator();
                // The hash code of a BytesRef is seeded by the process; that of the string is not.
                while (each.next() != null) {
                    sum += each.term().utf8ToString().hashCode() * 31L + each.totalTermFreq();
                }
            }
            return sum * 31 + reader.numDocs();
        }
    }

    @Override long iterate() throws Exception {
        return searches ? inParallel(THREADS, this::search) : index();
    }

    public static void main(String[] args) throws Exception {
        new Lucene(option(args, "--do", "search").equals("search"), Inputs.archive(args), small(args))
                .measure(args);
    }
}
