/** What may go wrong in the help desk. */
interface Fault {
    /** Before the first request. */
    default void prepare(Desk desk) throws Exception {}

    /** Once when the fault begins, and once when it ends. */
    default void changed(boolean on) throws Exception {}

    /** In every request, whether the fault is on or not. */
    default void answer(StringBuilder reply, int customer, boolean on) throws Exception {}
}
