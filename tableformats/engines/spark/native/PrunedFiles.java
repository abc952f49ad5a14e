package tableformats.spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.ExperimentalMethods;
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
 * Lets go of files over which there is a filter that none of their rows can meet, when the optimiser is done.
 *
 * That is more than Spark's own way to {@link PlannedFiles#listFiles}: conditions in which partition columns stand
 * beside others (under OR) reach no index there, and the size of a relation, by which joins are chosen, is asked before
 * any filter is shown. So this rule of the session puts what is left in the relation's place, when all of Spark's own
 * rules have moved filters where they belong and none has yet chosen a join. Filters stay, and no other relation is
 * touched.
 */
public class PrunedFiles extends Rule {
    private static final Logger LOG = LoggerFactory.getLogger("tableformats.spark.PrunedFiles");

    /** Adds this rule and {@link CountedRows} to a session that has them not. */
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
            // What can be answered needs no files.
            rules.add(new CountedRows());
            rules.add(this);
            session.extraOptimizations_$eq((Seq) JavaConverters.asScalaBuffer(rules).toIndexedSeq());
        }
    }

    public TreeNode apply(TreeNode plan) {
        return ((LogicalPlan) plan).transformUp(new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return node instanceof Filter && PlannedFiles.of(((Filter) node).child()) != null;
            }

            public Object applyOrElse(Object node, scala.Function1 otherwise) {
                return isDefinedAt(node) ? narrowed((Filter) node) : otherwise.apply(node);
            }
        });
    }

    private static LogicalPlan narrowed(Filter filter) {
        try {
            LogicalRelation leaf = (LogicalRelation) filter.child();
            PlannedFiles files = PlannedFiles.of(leaf);
            PlannedFiles left = files.narrowed(PlannedFiles.named(filter.condition(), leaf));
            if (left.equals(files)) {
                return filter;
            }
            // Versions of Spark differ in the types and the number of what these are made of, not in the order.
            HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
            Object copy = HadoopFsRelation.class.getConstructors()[0].newInstance(new Object[] {
                left, relation.partitionSchema(), relation.dataSchema(), relation.bucketSpec(), relation.fileFormat(),
                relation.options(), relation.sparkSession()});
            Object[] arguments = new Object[leaf.productArity()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = i == 0 ? copy : leaf.productElement(i);
            }
            LogicalPlan child = (LogicalPlan) leaf.makeCopy(arguments);
            return new Filter(filter.condition(), child);
        } catch (Throwable t) {
            LOG.debug("a filter was not planned ahead, every file is kept", t);
            return filter;
        }
    }
}
