// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import org.python.core.PyCode;
import org.python.core.PyObject;
import org.python.util.PythonInterpreter;

/** Jython: number loops in the manner of pystone, binary trees, json, regular expressions, ast, and difflib. */
public final class Jython extends Workload {
    private static final String PROGRAM = """
            import ast, difflib, json, re

            class Record(object):
                def __init__(self, left=None, kind=0, number=0):
                    self.left, self.kind, self.number = left, kind, number
                def copy(self):
                    return Record(self.left, self.kind, self.number)

            def stones(loops):
                table = [[0] * 51 for _ in range(51)]
                glob = Record(None, 1, 40)
                total = 0
                for i in range(loops):
                    record = glob.copy()
                    record.left = glob
                    record.number = i % 7
                    text = "STONE " + str(i % 10) + chr(65 + i % 26)
                    for j in range(3):
                        table[i % 51][j] = record.number * j + len(text)
                        total += table[i % 51][j]
                    if text < "STONE 5" and record.left is glob:
                        total -= glob.number
                return total

            def tree(depth):
                return (tree(depth - 1), depth, tree(depth - 1)) if depth else None

            def weight(node):
                return node[1] + weight(node[0]) + weight(node[2]) if node else 1

            def documents(count):
                data = [dict(id=i, name="name %d" % i, tags=["t%d" % (i * k % 13) for k in range(6)], \
            half=i / 2.0)
                        for i in range(count)]
                text = json.dumps(data, sort_keys=True)
                return text, len(json.loads(text))

            def words(text):
                counts = {}
                for word in re.findall(r"[a-z]+\\s?\\d+", text):
                    counts[word] = counts.get(word, 0) + 1
                return sorted(counts.items())[:40], re.sub(r"(\\d)(\\d)", r"\\2\\1", text)[:60]

            def syntax(count):
                source = "\\n".join("def f%d(a, b=%d):\\n    return [x * a + b for x in range(%d) \
            if x != b]" % (i, i, i)
                                   for i in range(count))
                parsed = ast.parse(source)
                return sum(1 for _ in ast.walk(parsed)), len(ast.dump(parsed))

            def differences(count):
                old = ["line %d of %d" % (i, i * 7 % 11) for i in range(count)]
                new = [line for i, line in enumerate(old) if i % 9] + ["more %d" % i for i in range(5)]
                return len(list(difflib.unified_diff(old, new))), difflib.get_close_matches("line 7 of 3", \
            old[:60])

            def everything(n):
                text, count = documents(20 * n)
                return repr((stones(2000 * n), weight(tree(min(15, 8 + n // 5))), count, words(text), \
            syntax(8 * n),
                             differences(30 * n)))
            """;

    private final PythonInterpreter python = new PythonInterpreter();
    private final PyCode call;

    private Jython(int amount) {
        python.exec(PROGRAM);
        call = python.compile("everything(" + amount + ")");
    }

    @Override long iterate() {
        PyObject result = python.eval(call);
        return result.toString().hashCode() & 0xffffffffL;
    }

    @Override void close() {
        python.close();
    }

    public static void main(String[] args) throws Exception {
        new Jython(small(args) ? 5 : 50).measure(args);
    }
}
