import java.util.HashMap;
import java.util.Map;

/** Keys that all have the same hash code. */
public final class HashCollisions implements Fault {
    private static final class Key {
        private final int value;
        private final boolean collides;

        Key(int value, boolean collides) {
            this.value = value;
            this.collides = collides;
        }

        @Override public int hashCode() { return collides ? 1 : value; }
        @Override public boolean equals(Object other) { return other instanceof Key && ((Key) other).value == value; }
    }

    public void duringOperation(int worker, boolean active) {
        index(active);
    }

    private int index(boolean collides) {
        Map<Key, Integer> map = new HashMap<>();
        for (int i = 0; i < 800; i++) map.put(new Key(i, collides), i);
        return map.size();
    }
}
