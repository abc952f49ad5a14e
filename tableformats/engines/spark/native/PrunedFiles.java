package tableformats.spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * An optimiser rule that drops files in which no row can match the filter above them.
 *
 * Spark's own call of {@link PlannedFiles#listFiles} does less: it passes no condition that mixes partition columns
 * with others (under OR), and Spark chooses joins by the size of a relation before it passes any filter. This rule runs
 * after Spark's rules have pushed filters down and before joins are chosen. It replaces the relation by one with the
 * remaining files. The filter stays, and other relations are not touched.
 */
public class PrunedFiles extends Rule {
    private static final Logger LOG = LoggerFactory.getLogger("tableformats.spark.PrunedFiles");

    /** Adds this rule and {@link CountedRows} to a session, unless it has them. */
    public void install(ExperimentalMethods session) {
        synchronized (session) {
            List rules = new ArrayList();
            Seq known = (Seq) session.extraOptimizations();
            for (int i = 0; i < known.size(); i++) {
                if (known.apply(i) instanceof PrunedFiles) {
                    return;
                }
                rules.add(known.apply(i));
            }
            // First, because a count that is answered from metadata needs no files.
            rules.add(new CountedRows());
            rules.add(this);
            session.extraOptimizations_$eq((Seq) JavaConverters.asScalaBuffer(rules).toIndexedSeq());
        }
    }

    public TreeNode apply(TreeNode plan) {
        // With subqueries: Spark prunes dynamically only by a plan that is the same as one side of a join.
        return ((LogicalPlan) plan).transformUpWithSubqueries(new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return leaf(node) != null;
            }

            public Object applyOrElse(Object node, scala.Function1 otherwise) {
                return isDefinedAt(node) ? narrowed((LogicalPlan) node) : otherwise.apply(node);
            }
        });
    }

    /** The relation that a filter reads, or that the node is, if it is one of ours; null if there is nothing to do. */
    public static LogicalRelation leaf(Object node) {
        LogicalPlan leaf = node instanceof Filter ? ((Filter) node).child() : (LogicalPlan) node;
        PlannedFiles files = PlannedFiles.of(leaf);
        return files == null || leaf == node && files.isOfQuery() ? null : (LogicalRelation) leaf;
    }

    /** The node over files of its own; public, because Janino renames private methods. */
    public static LogicalPlan narrowed(LogicalPlan node) {
        try {
            LogicalRelation leaf = leaf(node);
            Expression condition = leaf == node ? null : ((Filter) node).condition();
            PlannedFiles files = PlannedFiles.of(leaf);
            PlannedFiles remaining = files.narrowed(condition == null ? null : PlannedFiles.named(condition, leaf));
            Object copy = PlannedRelation.of(remaining, (HadoopFsRelation) leaf.relation());
            // Versions of Spark differ in the types and the number of the constructor's arguments, not in their order.
            Object[] arguments = new Object[leaf.productArity()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = i == 0 ? copy : leaf.productElement(i);
            }
            LogicalPlan child = (LogicalPlan) leaf.makeCopy(arguments);
            return condition == null ? child : new Filter(condition, child);
        } catch (Throwable t) {
            LOG.debug("a filter was not planned ahead, every file is kept", t);
            return node;
        }
    }
}
