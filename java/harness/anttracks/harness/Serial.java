// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.zip.CRC32;

/**
 * Java serialization: a graph with shared references is written, read, and written again, on two threads.
 * Fixed seed.
 */
public final class Serial extends Workload {
    private enum Role { DEVELOPER, TESTER, WRITER, MANAGER }

    private record Address(String street, int number, String city) implements Serializable {}

    private static class Being implements Serializable {
        private static final long serialVersionUID = 1;
        final String name;
        final long born;

        Being(String name, long born) {
            this.name = name;
            this.born = born;
        }
    }

    private static final class Person extends Being {
        private static final long serialVersionUID = 1;
        final Role role;
        final Address address;
        final List<Person> colleagues = new ArrayList<>();
        final Map<String, Object> properties = new LinkedHashMap<>();
        private transient int[] hours;

        Person(String name, SplittableRandom random, List<Address> addresses) {
            super(name, random.nextLong() >>> 24);
            role = Role.values()[random.nextInt(Role.values().length)];
            address = addresses.get(random.nextInt(addresses.size()));
            properties.put("wage", random.nextInt(100_000));
            properties.put("factor", random.nextInt(1000) / 1000.0);
            properties.put("key " + random.nextInt(50), new byte[random.nextInt(40)]);
            hours = random.ints(12, 0, 200).toArray();
        }

        private void writeObject(ObjectOutputStream out) throws IOException {
            out.defaultWriteObject();
            out.writeInt(hours.length);
            for (int hour : hours) out.writeShort(hour);
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            hours = new int[in.readInt()];
            for (int i = 0; i < hours.length; i++) hours[i] = in.readShort();
        }

        long hash() {
            // An enum's own hash code is its identity.
            return (name.hashCode() * 31L + born) * 31 + role.ordinal() + address.hashCode()
                    + Arrays.hashCode(hours) + colleagues.size();
        }
    }

    private static final class Company implements Serializable {
        private static final long serialVersionUID = 1;
        final TreeMap<String, Person> staff = new TreeMap<>();
    }

    private final int people;
    private final int rounds;

    private Serial(int people, int rounds) {
        this.people = people;
        this.rounds = rounds;
    }

    private Company make(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        List<Address> addresses = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            addresses.add(new Address("Street " + random.nextInt(1000), i, "City " + random.nextInt(10)));
        }
        List<Person> all = new ArrayList<>();
        Company company = new Company();
        for (int i = 0; i < people; i++) {
            Person person = new Person("Person " + i, random, addresses);
            // Only to recent ones: a chain through the whole staff would be as deep on the stack as it is long.
            int oldest = Math.max(0, i - 20);
            for (int c = 0; c < 4 && i > 0; c++) {
                person.colleagues.add(all.get(oldest + random.nextInt(i - oldest)));
            }
            all.add(person);
            company.staff.put(person.name, person);
        }
        return company;
    }

    private static byte[] write(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        return bytes.toByteArray();
    }

    private long round(int thread, int number) throws Exception {
        byte[] first = write(make(thread * 1000L + number));
        Company copy;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(first))) {
            copy = (Company) in.readObject();
        }
        byte[] second = write(copy);
        if (!Arrays.equals(first, second)) {
            throw new IllegalStateException("what was read is not what was written");
        }
        CRC32 crc = new CRC32();
        crc.update(second);
        long sum = crc.getValue();
        for (Person person : copy.staff.values()) sum = sum * 31 + person.hash();
        return sum;
    }

    @Override long iterate() throws Exception {
        return inParallel(2, thread -> {
            long sum = 0;
            for (int i = 0; i < rounds; i++) sum = sum * 31 + round(thread, i);
            return sum;
        });
    }

    public static void main(String[] args) throws Exception {
        new Serial(2000, small(args) ? 4 : 60).measure(args);
    }
}
