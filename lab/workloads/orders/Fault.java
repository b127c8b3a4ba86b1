/** What may go wrong in the service. */
interface Fault {
    /** Before the workers begin. */
    default void prepare(int workers) throws Exception {}

    /** Once when the fault begins, and once when it ends. */
    default void changed(boolean active) throws Exception {}

    /** In every operation, whether the fault is active or not. */
    default void duringOperation(int worker, boolean active) throws Exception {}
}
