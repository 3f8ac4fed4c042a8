// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Orders and payments in an SQL database in memory, by four clients at once, as TPC-C has them. Clients share
 * the stock, so they wait for each other; what they do to it commutes, so the rows at the end are the same for
 * every order of events, and for every database. Fixed seed.
 */
public final class Bank extends Workload {
    private static final int CLIENTS = 4;
    private static final int ITEMS = 500;
    private static final int CUSTOMERS = 200;  // of each client

    /** What differs between databases: how one begins and how it ends. */
    private enum Database {
        H2("org.h2.Driver", "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=20000", "") {
            @Override void drop(String url) throws SQLException {
                try (Connection connection = DriverManager.getConnection(url);
                        Statement statement = connection.createStatement()) {
                    statement.execute("SHUTDOWN");
                }
            }
        },
        DERBY("org.apache.derby.jdbc.EmbeddedDriver", "jdbc:derby:memory:bank", ";create=true") {
            @Override void drop(String url) throws SQLException {
                try {
                    DriverManager.getConnection(url + ";drop=true");
                } catch (SQLException e) {
                    // Derby says that it succeeded by this error.
                    if (!"08006".equals(e.getSQLState())) throw e;
                }
            }
        };

        final String driver;
        final String url;
        final String create;

        Database(String driver, String url, String create) {
            this.driver = driver;
            this.url = url;
            this.create = create;
        }

        abstract void drop(String url) throws SQLException;
    }

    private final Database database;
    private final int transactions;  // of each client

    private Bank(Database database, int transactions) throws ClassNotFoundException {
        this.database = database;
        this.transactions = transactions;
        Class.forName(database.driver);
    }

    private void fill(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(30), price INT, "
                    + "quantity INT, sold INT)");
            statement.execute("CREATE TABLE customer (client INT, id INT, name VARCHAR(30), balance INT,"
                    + " PRIMARY KEY (client, id))");
            statement.execute("CREATE TABLE orders (client INT, id INT, customer INT, total INT, "
                    + "PRIMARY KEY (client, id))");
            statement.execute("CREATE TABLE line (client INT, orders INT, number INT, item INT, amount INT,"
                    + " PRIMARY KEY (client, orders, number))");
            statement.execute("CREATE INDEX customer_orders ON orders (client, customer)");
        }
        SplittableRandom random = new SplittableRandom(1);
        try (PreparedStatement item = connection.prepareStatement(
                "INSERT INTO item VALUES (?, ?, ?, 100000, 0)");
                PreparedStatement customer = connection.prepareStatement(
                        "INSERT INTO customer VALUES (?, ?, ?, 0)")) {
            for (int i = 0; i < ITEMS; i++) set(item, i, "item " + i, random.nextInt(1, 100)).executeUpdate();
            for (int c = 0; c < CLIENTS; c++) {
                for (int i = 0; i < CUSTOMERS; i++) {
                    set(customer, c, i, "customer " + random.nextInt(1000)).executeUpdate();
                }
            }
        }
        connection.commit();
    }

    private static PreparedStatement set(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
        return statement;
    }

    private static int first(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            return rows.next() ? rows.getInt(1) : 0;
        }
    }

    private static void order(Connection c, int client, int number, SplittableRandom random)
            throws SQLException {
        TreeMap<Integer, Integer> wanted = new TreeMap<>();
        for (int i = 0; i < 5; i++) wanted.put(random.nextInt(ITEMS), random.nextInt(1, 10));
        int customer = random.nextInt(CUSTOMERS);
        int total = 0;
        int lines = 0;
        try (PreparedStatement price = c.prepareStatement("SELECT price FROM item WHERE id = ?");
                PreparedStatement take = c.prepareStatement(
                        "UPDATE item SET quantity = quantity - ?, sold = sold + 1"
                        + " WHERE id = ?");
                PreparedStatement line = c.prepareStatement("INSERT INTO line VALUES (?, ?, ?, ?, ?)");
                PreparedStatement order = c.prepareStatement("INSERT INTO orders VALUES (?, ?, ?, ?)")) {
            // In ascending order, so that two clients never wait for each other in a circle.
            for (var entry : wanted.entrySet()) {
                set(take, entry.getValue(), entry.getKey()).executeUpdate();
                total += first(set(price, entry.getKey())) * entry.getValue();
                set(line, client, number, lines++, entry.getKey(), entry.getValue()).executeUpdate();
            }
            set(order, client, number, customer, total).executeUpdate();
        }
        pay(c, client, customer, -total);
    }

    private static void pay(Connection c, int client, int customer, int amount) throws SQLException {
        try (PreparedStatement pay = c.prepareStatement("UPDATE customer SET balance = balance + ?"
                + " WHERE client = ? AND id = ?")) {
            set(pay, amount, client, customer).executeUpdate();
        }
    }

    private static int history(Connection c, int client, SplittableRandom random) throws SQLException {
        try (PreparedStatement query = c.prepareStatement(
                "SELECT COUNT(*) FROM orders o JOIN line l ON l.client = o.client"
                + " AND l.orders = o.id WHERE o.client = ? AND o.customer = ? AND l.amount > ?")) {
            return first(set(query, client, random.nextInt(CUSTOMERS), random.nextInt(9)));
        }
    }

    private long client(int client) throws SQLException {
        long sum = 0;
        try (Connection connection = DriverManager.getConnection(database.url)) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            for (int number = 0; number < transactions; number++) {
                sum = sum * 31 + transaction(connection, client, number);
            }
        }
        return sum;
    }

    /** Again and again as long as the database says that others were in the way. */
    private static long transaction(Connection connection, int client, int number) throws SQLException {
        for (int attempt = 0; ; attempt++) {
            SplittableRandom random = new SplittableRandom(client * 1_000_000L + number);
            int kind = random.nextInt(100);
            try {
                long result = 0;
                if (kind < 45) {
                    order(connection, client, number, random);
                } else if (kind < 85) {
                    pay(connection, client, random.nextInt(CUSTOMERS), random.nextInt(5000));
                } else {
                    result = history(connection, client, random);
                }
                // Some think better of it, as in TPC-C.
                if (kind == 44) connection.rollback();
                else connection.commit();
                return result;
            } catch (SQLException e) {
                rollback(connection, e);
                String state = String.valueOf(e.getSQLState());
                boolean inTheWay = state.startsWith("40") || state.startsWith("HYT");
                if (!inTheWay || attempt == 100) throw e;
            }
        }
    }

    /** After an error the database may have closed the connection; then that error is the one to tell. */
    private static void rollback(Connection connection, SQLException cause) throws SQLException {
        try {
            connection.rollback();
        } catch (SQLException e) {
            cause.addSuppressed(e);
            throw cause;
        }
    }

    private static long rows(Connection connection) throws SQLException {
        long sum = 0;
        try (Statement statement = connection.createStatement()) {
            for (String table : new String[] {"item ORDER BY id", "customer ORDER BY client, id",
                "orders ORDER BY client, id", "line ORDER BY client, orders, number"}) {
                try (ResultSet rows = statement.executeQuery("SELECT * FROM " + table)) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        for (int i = 1; i <= columns; i++) sum = sum * 31 + rows.getString(i).hashCode();
                    }
                }
            }
        }
        return sum;
    }

    @Override long iterate() throws Exception {
        try (Connection connection = DriverManager.getConnection(database.url + database.create)) {
            connection.setAutoCommit(false);
            fill(connection);
            long sum = inParallel(CLIENTS, this::client);
            sum = sum * 31 + rows(connection);
            connection.commit();
            return sum;
        } finally {
            database.drop(database.url);
        }
    }

    public static void main(String[] args) throws Exception {
        Database database = Database.valueOf(option(args, "--database", "H2"));
        new Bank(database, small(args) ? 1000 : database == Database.H2 ? 15_000 : 3000).measure(args);
    }
}
