import java.io.Serializable;

/** A line of the table. */
final class Sale implements Serializable {
    private static final long serialVersionUID = 1;
    final int day, product, amount;
    final String remark;

    Sale(int day, int product, int amount, String remark) {
        this.day = day;
        this.product = product;
        this.amount = amount;
        this.remark = remark;
    }

    static Sale parse(String line) {
        String[] parts = line.split(",");
        return new Sale(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]), parts[3]);
    }
}
