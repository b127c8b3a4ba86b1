/** No fault: less is asked for. */
public final class FewerRequests implements Fault {
    public void changed(boolean active) {
        Service.thinkFactor = active ? 3 : 1;
    }
}
