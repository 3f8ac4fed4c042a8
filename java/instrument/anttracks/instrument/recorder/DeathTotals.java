// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.util.Arrays;

/** Sums over tracked objects, by context. */
final class DeathTotals {
    /** The columns; times are sums over objects, in bytes allocated and in milliseconds. */
    enum Sum { OBJECTS, BYTES, LIFE_BYTES, LIFE_MILLIS, DRAG_BYTES, DRAG_MILLIS, NEVER_USED }

    private static final int COLUMNS = Sum.values().length;

    private long[] data = new long[COLUMNS * 256];
    private long objects;

    synchronized void add(Tracked object, long nowBytes, int nowMillis) {
        int row = object.context * COLUMNS;
        if (row >= data.length) data = Arrays.copyOf(data, Math.max(row + COLUMNS, data.length * 2));
        add(row, Sum.OBJECTS, 1);
        add(row, Sum.BYTES, object.size());
        add(row, Sum.LIFE_BYTES, nowBytes - object.bornBytes);
        add(row, Sum.LIFE_MILLIS, nowMillis - object.bornMillis);
        add(row, Sum.DRAG_BYTES, nowBytes - object.lastUseBytes());
        add(row, Sum.DRAG_MILLIS, nowMillis - object.lastUseMillis());
        if (!object.wasUsed()) add(row, Sum.NEVER_USED, 1);
        objects++;
    }

    private void add(int row, Sum column, long value) {
        data[row + column.ordinal()] += value;
    }

    synchronized long get(int context, Sum column) {
        int at = context * COLUMNS + column.ordinal();
        return at < data.length ? data[at] : 0;
    }

    synchronized long objects() {
        return objects;
    }
}
