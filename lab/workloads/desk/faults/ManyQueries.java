/** The tickets of sixty customers are asked for one by one. */
public final class ManyQueries implements Fault {
    private Desk desk;

    @Override public void prepare(Desk desk) {
        this.desk = desk;
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        overview(customer, on ? 240 : 1);
    }

    private void overview(int customer, int customers) throws Exception {
        StringBuilder others = new StringBuilder();
        for (int i = 0; i < customers; i++) desk.list((customer + i) % Desk.CUSTOMERS, others);
    }
}
