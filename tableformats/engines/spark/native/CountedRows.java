package tableformats.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataTypes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Replaces a {@code count(*)} over our files with the number of rows, where the metadata give it exactly.
 *
 * The aggregate may read {@link PlannedFiles} through projections and unions, with a filter on deleted rows
 * ({@link LiveRows}) and filters over partition columns. With anything else in between (another filter, a limit, a
 * sample, a join) Spark counts, and also where a file's record count is unknown. The aggregate is replaced by a
 * LocalRelation of one row that has the aggregate's attributes.
 */
public class CountedRows extends Rule {
    private static final Logger LOG = LoggerFactory.getLogger("tableformats.spark.CountedRows");

    public TreeNode apply(TreeNode plan) {
        return ((LogicalPlan) plan).transformUp(new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return node instanceof Aggregate;
            }

            public Object applyOrElse(Object node, scala.Function1 otherwise) {
                LogicalPlan answer = node instanceof Aggregate ? answer((Aggregate) node) : null;
                return answer == null ? otherwise.apply(node) : answer;
            }
        });
    }

    /** The row of the aggregate; null where Spark has to count. Public, because Janino renames private methods. */
    public static LogicalPlan answer(Aggregate aggregate) {
        try {
            Seq wanted = aggregate.aggregateExpressions();
            if (!aggregate.groupingExpressions().isEmpty() || !areCounts(wanted)) {
                return null;
            }
            long count = rows(aggregate.child());
            return count < 0 ? null : row(aggregate.output(), wanted, count);
        } catch (Throwable t) {
            LOG.debug("a count was not answered from metadata", t);
            return null;
        }
    }

    /** Whether the expressions depend only on the number of rows, and at least one does. */
    private static boolean areCounts(Seq expressions) {
        boolean isAny = false;
        for (int i = 0; i < expressions.size(); i++) {
            if (!(expressions.apply(i) instanceof Alias)) {
                return false;
            }
            Expression expression = ((Alias) expressions.apply(i)).child();
            Expression counted = counted(expression, 0L);
            if (!counted.foldable() || !counted.deterministic()) {
                return false;
            }
            isAny |= counted != expression;
        }
        return isAny;
    }

    /** The expression with each {@code count(*)} replaced by the number of rows. */
    private static Expression counted(Expression expression, final long count) {
        return (Expression) expression.transformUp(new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return node instanceof AggregateExpression && isOfAllRows((AggregateExpression) node);
            }

            public Object applyOrElse(Object node, scala.Function1 otherwise) {
                return isDefinedAt(node) ? new Literal(Long.valueOf(count), DataTypes.LongType) : otherwise.apply(node);
            }
        });
    }

    /** Whether this counts every row: {@code count} of literals that are not NULL. */
    public static boolean isOfAllRows(AggregateExpression aggregate) {
        if (!(aggregate.aggregateFunction() instanceof Count) || aggregate.isDistinct()
                || aggregate.filter().isDefined()) {
            return false;
        }
        Seq counted = ((Count) aggregate.aggregateFunction()).children();
        for (int i = 0; i < counted.size(); i++) {
            if (!(counted.apply(i) instanceof Literal) || ((Literal) counted.apply(i)).value() == null) {
                return false;
            }
        }
        return true;
    }

    /** The number of rows of the plan; -1 if it is unknown. */
    private static long rows(LogicalPlan plan) {
        if (plan instanceof Project) {
            return ((Project) plan).deterministic() ? rows(((Project) plan).child()) : -1L;
        }
        if (plan instanceof Union) {
            long total = 0L;
            for (int i = 0; i < plan.children().size(); i++) {
                long more = rows((LogicalPlan) plan.children().apply(i));
                if (more < 0) {
                    return -1L;
                }
                total = Math.addExact(total, more);
            }
            return total;
        }
        LogicalPlan leaf = plan instanceof Filter ? ((Filter) plan).child() : plan;
        PlannedFiles files = PlannedFiles.of(leaf);
        if (files == null) {
            return -1L;
        }
        List conditions = new ArrayList();
        if (plan instanceof Filter) {
            addConjuncts(PlannedFiles.named(((Filter) plan).condition(), leaf), conditions);
        }
        boolean isLive = false;
        for (int i = conditions.size() - 1; i >= 0; i--) {
            if (conditions.get(i) instanceof LiveRows) {
                conditions.remove(i);
                isLive = true;
            }
        }
        return files.count(sequence(conditions), isLive);
    }

    private static void addConjuncts(Expression condition, List found) {
        if (condition instanceof And) {
            addConjuncts(((And) condition).left(), found);
            addConjuncts(((And) condition).right(), found);
        } else {
            found.add(condition);
        }
    }

    private static LogicalPlan row(Seq output, Seq expressions, long count) throws Exception {
        Object[] values = new Object[expressions.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = counted(((Alias) expressions.apply(i)).child(), count).eval(InternalRow.empty());
        }
        Object[] rows = {new GenericInternalRow(values)};
        // Only some versions of Spark have a last argument, the stream that the rows come from.
        Object[] arguments = {output, sequence(Arrays.asList(rows)), Boolean.FALSE, Option.empty()};
        Constructor made = LocalRelation.class.getConstructors()[0];
        return (LogicalPlan) made.newInstance(Arrays.copyOf(arguments, made.getParameterCount()));
    }

    private static Seq sequence(List items) {
        return (Seq) JavaConverters.asScalaBuffer(items).toIndexedSeq();
    }
}
