/** No fault: the classes are given their lines and the names of variables. */
public final class DebugInfo implements Fault {
    @Override public void plan(Job job, boolean on) {
        job.options.add(on ? "-g" : "-g:none");
    }
}
