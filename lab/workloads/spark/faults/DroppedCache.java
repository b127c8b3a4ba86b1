/** The cached table is dropped, so that each job parses all lines anew. */
public final class DroppedCache implements Fault {
    private Reports reports;

    @Override public void prepare(Reports all) {
        reports = all;
    }

    @Override public void changed(boolean on) {
        if (on) {
            reports.sales.unpersist();
        } else {
            reports.sales.cache().count();
        }
    }
}
