// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * Tomcat on the loopback interface serves JSPs, a servlet with sessions, and a file to 16 clients;
 * a checksum of the answers.
 */
public final class TomcatServer extends Workload {
    private static final int CLIENTS = 16;
    private static final String PAGE = """
            <%@ page contentType="text/html" import="java.util.*" %><html><body>
            <% int count = Integer.parseInt(request.getParameter("count"));
               Map<String, Integer> words = new TreeMap<>();
               for (int i = 0; i < count; i++) words.merge("word " + i * 7919 % 101, i, Integer::sum); %>
            <table><% for (Map.Entry<String, Integer> word : words.entrySet()) { %>
            <tr><td><%= word.getKey() %></td><td>${param.count} of <%= word.getValue() %></td></tr>
            <% } %></table></body></html>
            """;

    private static final class Basket extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override protected void doGet(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            HttpSession session = request.getSession();
            if (request.getParameter("item") == null) {
                session.invalidate();
                return;
            }
            Object before = session.getAttribute("basket");
            String basket = (before == null ? "" : before + ",") + request.getParameter("item");
            session.setAttribute("basket", basket.length() > 500 ? "" : basket);
            response.setContentType("text/plain");
            for (String item : basket.split(",")) {
                response.getWriter().println("item " + item + " of " + basket.length());
            }
        }
    }

    private final Path folder = Files.createTempDirectory("tomcat");
    private final Tomcat tomcat = new Tomcat();
    private final int requests;  // of each client

    private TomcatServer(int requests) throws Exception {
        this.requests = requests;
        // Its warnings are about JDK internals that it would look into when it stops.
        Logger.getLogger("").setLevel(Level.SEVERE);
        Path pages = Files.createDirectories(folder.resolve("pages"));
        Files.writeString(pages.resolve("words.jsp"), PAGE);
        Files.writeString(pages.resolve("file.txt"), "a line of the file\n".repeat(500));
        tomcat.setBaseDir(folder.toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addWebapp("", pages.toString());
        // Where classes are looked for that JSPs need; this process's own class path has them all.
        context.setParentClassLoader(TomcatServer.class.getClassLoader());
        context.getJarScanner().setJarScanFilter((type, name) -> false);
        Tomcat.addServlet(context, "basket", new Basket());
        context.addServletMappingDecoded("/basket", "basket");
        tomcat.start();
    }

    private String get(String path, String cookie, CRC32 crc) throws IOException {
        URI address = URI.create("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + path);
        HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
        if (cookie != null) connection.setRequestProperty("Cookie", cookie);
        try (InputStream in = connection.getInputStream()) {
            crc.update(in.readAllBytes());
        }
        String set = connection.getHeaderField("Set-Cookie");
        return set == null ? cookie : set.split(";")[0];
    }

    private long client(int client) throws IOException {
        CRC32 crc = new CRC32();
        String cookie = null;
        for (int i = 0; i < requests; i++) {
            switch ((i + client) % 3) {
                case 0 -> cookie = get("/words.jsp?count=" + (50 + (i * 13 + client) % 200), cookie, crc);
                case 1 -> cookie = get("/basket?item=" + i, cookie, crc);
                default -> get("/file.txt", cookie, crc);
            }
        }
        // Without it each client's session would stay for half an hour: longer than any run, so a leak.
        get("/basket", cookie, crc);
        return crc.getValue();
    }

    @Override long iterate() throws Exception {
        return inParallel(CLIENTS, this::client);
    }

    @Override void close() throws Exception {
        tomcat.stop();
        tomcat.destroy();
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
        }
    }

    public static void main(String[] args) throws Exception {
        new TomcatServer(small(args) ? 60 : 900).measure(args);
    }
}
