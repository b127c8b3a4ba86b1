/** A page that is put together by adding to a string. */
public final class TextByAdding implements Fault {
    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        reply.append(render(reply.toString(), on ? 300 : 3).length());
    }

    private String render(String row, int rows) {
        String page = "";
        for (int i = 0; i < rows; i++) page += row.substring(0, Math.min(200, row.length()));
        return page;
    }
}
