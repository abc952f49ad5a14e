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
 * Puts the number of rows in the place of a {@code count(*)} over all rows of our files, where the metadata know it.
 *
 * All rows are those of {@link PlannedFiles} through projections and unions, without the deleted ones of
 * {@link LiveRows}, and of the files for which filters over partition columns hold. Whatever else stands between (another
 * filter, a limit, a sample, a join) has Spark count, and so have files whose rows nobody has counted. What is put there
 * is a LocalRelation of one row with the aggregate's own attributes.
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

    /** The one row of the aggregate; null where Spark has to count. Public, as Janino gives private ones other names. */
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

    /** Whether the expressions need no more than the number of rows, and one of them needs it. */
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

    /** The expression with the number of rows in the place of each {@code count(*)}. */
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

    /** Whether this is {@code count} of literals that are not NULL, of every row. */
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

    /** How many rows the plan gives; -1 where that is not known. */
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
        // Versions of Spark differ in whether a stream that the rows come from is the last argument.
        Object[] arguments = {output, sequence(Arrays.asList(rows)), Boolean.FALSE, Option.empty()};
        Constructor made = LocalRelation.class.getConstructors()[0];
        return (LogicalPlan) made.newInstance(Arrays.copyOf(arguments, made.getParameterCount()));
    }

    private static Seq sequence(List items) {
        return (Seq) JavaConverters.asScalaBuffer(items).toIndexedSeq();
    }
}
