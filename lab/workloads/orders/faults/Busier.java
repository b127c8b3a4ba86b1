/** No fault: twice as much is asked for. */
public final class Busier implements Fault {
    @Override public void changed(boolean active) {
        Service.thinkFactor = active ? 0.5 : 1;
    }
}
