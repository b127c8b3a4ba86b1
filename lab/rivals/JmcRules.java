import java.io.File;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.unit.UnitLookup;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.ResultToolkit;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.TypedResult;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/**
 * All rules of JDK Mission Control on a flight recording: {@code JmcRules FILE [FROM_MS TO_MS]},
 * one line a result that has a score, the highest first: score, severity, rule, summary,
 * explanation, with tabs in between.
 */
public final class JmcRules {
    public static void main(String[] args) throws Exception {
        IItemCollection items = JfrLoaderToolkit.loadEvents(new File(args[0]));
        if (args.length > 1) {
            IQuantity from = UnitLookup.EPOCH_MS.quantity(Long.parseLong(args[1]));
            IQuantity to = UnitLookup.EPOCH_MS.quantity(Long.parseLong(args[2]));
            items = items.apply(ItemFilters.and(
                    ItemFilters.moreOrEqual(JfrAttributes.END_TIME, from), ItemFilters.lessOrEqual(JfrAttributes.END_TIME, to)));
        }
        List<IResult> results = new ArrayList<>();
        Collection<IRule> rules = RuleRegistry.getRules();
        for (Map.Entry<IRule, Future<IResult>> entry : RulesToolkit.evaluateParallel(rules, items, null, 1).entrySet()) {
            results.add(entry.getValue().get());
        }
        results.removeIf(result -> result == null || score(result) < 0);
        results.sort(Comparator.comparingDouble(JmcRules::score).reversed());
        for (IResult result : results) {
            System.out.printf("%.1f\t%s\t%s\t%s\t%s%n", score(result), result.getSeverity(), result.getRule().getId(),
                    text(result, result.getSummary()), text(result, result.getExplanation()));
        }
        System.exit(0);
    }

    private static double score(IResult result) {
        IQuantity score = result.getResult(TypedResult.SCORE);
        return score == null ? -1 : score.doubleValue();
    }

    private static String text(IResult result, String raw) {
        String text = raw == null ? "" : ResultToolkit.populateMessage(result, raw, false);
        return text.replaceAll("\\s+", " ");
    }
}
