package tableformats.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import scala.collection.immutable.Seq;

/** How many files a query that has run read. Spark counts them, after all pruning, in a metric of its plan. */
public class ScannedFiles {
    private static final Class[] NONE = new Class[0];

    /** The query that Spark runs in this thread; null if there is none. */
    public static QueryExecution execution() {
        try {
            SparkContext context = (SparkContext) SparkContext$.MODULE$.getActive().get();
            String id = context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
            return id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
        } catch (RuntimeException e) {
            return null;
        }
    }

    /** The number of files that the query read of an index; -1 if it did not run, or does not say. */
    public static long of(Object files, QueryExecution query) {
        try {
            return query == null ? -1L : read(files, query.executedPlan());
        } catch (Exception e) {
            return -1L;
        }
    }

    private static long read(Object files, SparkPlan plan) throws Exception {
        if (plan instanceof FileSourceScanExec) {
            FileSourceScanExec scan = (FileSourceScanExec) plan;
            return scan.relation().location() == files ? metric(scan, "numFiles") : -1L;
        }
        if (plan instanceof AdaptiveSparkPlanExec) {
            return read(files, ((AdaptiveSparkPlanExec) plan).executedPlan());
        }
        if (plan instanceof QueryStageExec) {
            return read(files, ((QueryStageExec) plan).plan());
        }
        if (plan instanceof InMemoryTableScanExec) {
            return read(files, ((InMemoryTableScanExec) plan).relation().cachedPlan());
        }
        long found = read(files, plan.children());
        return found >= 0L ? found : read(files, plan.subqueries());
    }

    private static long read(Object files, Seq plans) throws Exception {
        long found = -1L;
        for (int i = 0; i < plans.size() && found < 0L; i++) {
            found = read(files, (SparkPlan) plans.apply(i));
        }
        return found;
    }

    /** A metric has its value twice, as a long and as an Object. */
    private static long metric(FileSourceScanExec scan, String name) throws Exception {
        Object metric = scan.metrics().apply(name);
        return ((Number) metric.getClass().getMethod("value", NONE).invoke(metric, new Object[0])).longValue();
    }
}
