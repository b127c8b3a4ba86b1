/** An index is dropped, so that each query goes through the whole table. */
public final class DroppedIndex implements Fault {
    private Desk desk;

    @Override public void prepare(Desk desk) {
        this.desk = desk;
    }

    @Override public void changed(boolean on) throws Exception {
        desk.sql(on ? "drop index by_customer" : "create index by_customer on ticket(customer)");
    }
}
