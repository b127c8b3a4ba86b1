import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A tenant's stored procedures: order entry, payment, delivery, stock level, audit and export.
 * Ordinary business code of many small and middling methods; nothing in it waits or does anything
 * but compute on the store.
 */
public final class TenantProcedures implements Procedures {
  private static final long DISTRICTS = 10;
  private static final long ITEMS = 200;

  @Override
  public long run(Store store, long seed) {
    switch ((int) Math.floorMod(seed, 10L)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return newOrder(store, seed);
      case 4:
      case 5:
      case 6:
        return payment(store, seed);
      case 7:
        return delivery(store, seed);
      case 8:
        return stockLevel(store, seed);
      default:
        return export(store, seed);
    }
  }

  private long newOrder(Store store, long seed) {
    long district = district(seed);
    long order = nextOrder(store, district);
    int lines = lineCount(seed);
    long total = 0;
    for (int line = 0; line < lines; line++) {
      long item = item(seed, line);
      int quantity = quantity(seed, line);
      total += orderLine(store, item, quantity, line);
    }
    total = discount(total, seed);
    total = tax(total, district);
    writeOrder(store, district, order, total);
    return audit(store, total, order);
  }

  private long payment(Store store, long seed) {
    long district = district(seed);
    long customer = customer(seed);
    long amount = amount(seed);
    long[] row = store.row(customerKey(district, customer));
    synchronized (row) {
      row[1] -= amount;
      row[2] += amount;
      row[3]++;
      if (row[1] < 0) {
        row[1] = refill(row[1], customer);
      }
      row[4] = history(row, amount);
    }
    return audit(store, amount, customer);
  }

  private long delivery(Store store, long seed) {
    long sum = 0;
    for (long district = 0; district < DISTRICTS; district++) {
      long[] row = store.row(districtKey(district));
      synchronized (row) {
        if (row[5] < row[2]) {
          row[5]++;
          sum += deliver(store, district, row[5], seed);
        }
      }
    }
    return mix(sum);
  }

  private long stockLevel(Store store, long seed) {
    int low = 0;
    long first = item(seed, 0);
    for (long i = 0; i < 40; i++) {
      long[] row = store.row(stockKey((first + i) % ITEMS));
      synchronized (row) {
        if (row[1] < threshold(seed)) {
          low++;
        }
      }
    }
    return mix(low);
  }

  private long export(Store store, long seed) {
    List<String> fields = new ArrayList<>();
    long[] row = store.row(customerKey(district(seed), customer(seed)));
    long[] copy;
    synchronized (row) {
      copy = row.clone();
    }
    for (int column = 0; column < copy.length; column++) {
      fields.add(encode(column, copy[column]));
    }
    Map<String, Integer> lengths = lengths(fields);
    byte[] bytes = frame(fields);
    return checksum(bytes) + lengths.size() + parse(bytes);
  }

  private long district(long seed) {
    return Math.floorMod(seed >>> 8, DISTRICTS);
  }

  private long customer(long seed) {
    return Math.floorMod(mix(seed ^ 0x9E37L), 30L);
  }

  private long amount(long seed) {
    return 1 + Math.floorMod(seed >>> 3, 50L);
  }

  private long item(long seed, int line) {
    return Math.floorMod(mix(seed + line * 31L), ITEMS);
  }

  private int lineCount(long seed) {
    return 5 + (int) Math.floorMod(seed >>> 5, 6L);
  }

  private int quantity(long seed, int line) {
    return 1 + (int) Math.floorMod(seed >>> line, 5L);
  }

  private long threshold(long seed) {
    return 10 + Math.floorMod(seed, 10L);
  }

  private long districtKey(long district) {
    return 1_000_000L + district;
  }

  private long customerKey(long district, long customer) {
    return 2_000_000L + district * 1_000 + customer;
  }

  private long stockKey(long item) {
    return 3_000_000L + item;
  }

  private long orderKey(long district, long order) {
    return 4_000_000L + district * 1_000 + Math.floorMod(order, 50L);
  }

  private long nextOrder(Store store, long district) {
    long[] row = store.row(districtKey(district));
    synchronized (row) {
      return ++row[2];
    }
  }

  private long orderLine(Store store, long item, int quantity, int line) {
    long[] row = store.row(stockKey(item));
    synchronized (row) {
      row[1] = row[1] >= quantity + 10 ? row[1] - quantity : restock(row[1], quantity);
      row[2] += quantity;
      row[3]++;
      return price(item) * quantity + line;
    }
  }

  private long restock(long level, int quantity) {
    return level - quantity + 91;
  }

  private long refill(long balance, long customer) {
    long needed = -balance;
    long step = 100 + Math.floorMod(customer, 17L);
    while (needed > 0) {
      needed -= step;
      balance += step;
    }
    return balance + 1_000;
  }

  private long price(long item) {
    long price = 100;
    for (long digit = item; digit > 0; digit /= 10) {
      price = price * 3 + digit % 10;
    }
    return Math.floorMod(price, 10_000L);
  }

  private long discount(long total, long seed) {
    if (total > 50_000) {
      return total - total / 10;
    }
    if (total > 20_000) {
      return total - total / 20;
    }
    return Math.floorMod(seed, 7L) == 0 ? total - 1 : total;
  }

  private long tax(long total, long district) {
    switch ((int) district) {
      case 0:
      case 1:
        return total + total * 7 / 100;
      case 2:
      case 3:
      case 4:
        return total + total * 19 / 100;
      default:
        return total + total * 21 / 100;
    }
  }

  private void writeOrder(Store store, long district, long order, long total) {
    long[] row = store.row(orderKey(district, order));
    synchronized (row) {
      row[1] = order;
      row[2] = total;
      row[3] = 0;
      row[6] = mix(order ^ total);
    }
  }

  private long deliver(Store store, long district, long order, long seed) {
    long[] row = store.row(orderKey(district, order));
    synchronized (row) {
      row[3] = 1 + Math.floorMod(seed, 10L);
      return row[2] + row[3];
    }
  }

  private long history(long[] row, long amount) {
    long history = row[4];
    for (int column = 1; column < 4; column++) {
      history = history * 31 + row[column];
    }
    return history ^ amount;
  }

  private long audit(Store store, long value, long subject) {
    long[] row = store.row(5_000_000L + Math.floorMod(subject, 64L));
    long stamp = mix(value + subject);
    synchronized (row) {
      row[1]++;
      row[2] ^= stamp;
      row[7] = Math.max(row[7], value);
    }
    return stamp;
  }

  private String encode(int column, long value) {
    StringBuilder text = new StringBuilder(24);
    text.append((char) ('a' + column)).append('=');
    if (column % 2 == 0) {
      text.append(Long.toHexString(value));
    } else {
      text.append(value);
    }
    return text.toString();
  }

  private Map<String, Integer> lengths(List<String> fields) {
    Map<String, Integer> lengths = new HashMap<>();
    for (String field : fields) {
      lengths.merge(field.substring(0, 1), field.length(), Integer::sum);
    }
    return lengths;
  }

  private byte[] frame(List<String> fields) {
    byte[] bytes = new byte[256];
    int at = 0;
    for (String field : fields) {
      for (int i = 0; i < field.length() && at < bytes.length - 1; i++) {
        bytes[at++] = (byte) field.charAt(i);
      }
      if (at < bytes.length) {
        bytes[at++] = ';';
      }
    }
    return Arrays.copyOf(bytes, at);
  }

  private long checksum(byte[] bytes) {
    int a = 1;
    int b = 0;
    for (byte value : bytes) {
      a = (a + (value & 0xff)) % 65_521;
      b = (b + a) % 65_521;
    }
    return ((long) b << 16) | a;
  }

  private int parse(byte[] bytes) {
    int fields = 0;
    int depth = 0;
    for (byte value : bytes) {
      switch (value) {
        case ';':
          fields++;
          depth = 0;
          break;
        case '=':
          depth++;
          break;
        default:
          fields += depth >> 8;
      }
    }
    return fields;
  }

  private static long mix(long value) {
    long z = value * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    return z ^ (z >>> 27);
  }
}
