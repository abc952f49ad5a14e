package tableformats.spark;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToLongBiFunction;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * The files of one plan as Spark's file index. Nothing is listed, and a query's filters drop files when it is planned.
 *
 * Partition values are constants of a file. Filters over them alone are evaluated here, exactly, because Spark removes
 * them from the query afterwards. All filters are also sent to the planner, which returns a byte per file, zero if no
 * row can match. If the planner fails, every file is kept. It is called in the driver only.
 */
public class PlannedFiles implements FileIndex {
    private static final Logger LOG = LoggerFactory.getLogger("tableformats.spark.PlannedFiles");
    private static final ObjectMapper JSON = new ObjectMapper();

    private String table;
    private int total;
    private boolean isOfQuery;
    private volatile WeakReference execution = new WeakReference(null);
    private StructType partitionSchema;
    private FileList files;
    private InternalRow[] values;
    private Function planner;
    private boolean byId;
    private boolean nested;
    private boolean[] remaining;
    private long totalSize;

    /**
     * @param table what EXPLAIN calls the table; a Hadoop path, so without ':' and '/'
     * @param total the number of files of the table
     * @param values a row of partition values for each file
     * @param planner a Function from JSON (a list of {@link CatalystFilters} nodes) to byte[files], zero to drop the
     *     file, null to keep all; and a ToLongBiFunction from byte[files] (zero leaves the file out; null: all files)
     *     and whether deleted rows are left out, to the number of rows, -1 if it is unknown
     * @param byId whether the reader finds columns by Parquet field id
     * @param nested whether it reads nested columns
     */
    public PlannedFiles open(String table, int total, FileList files, List values, StructType partitionSchema, Function planner,
            boolean byId, boolean nested) {
        this.byId = byId;
        this.nested = nested;
        this.table = table;
        this.total = total;
        this.partitionSchema = partitionSchema;
        this.planner = planner;
        this.files = files;
        this.values = new InternalRow[files.size()];
        this.remaining = new boolean[files.size()];
        Arrays.fill(remaining, true);
        for (int i = 0; i < remaining.length; i++) {
            this.values[i] = (InternalRow) values.get(i);
            totalSize += files.length(i);
        }
        return this;
    }

    /** The files that a leaf of a plan reads; null if it is not one of our relations. */
    public static PlannedFiles of(LogicalPlan leaf) {
        Object relation = leaf instanceof LogicalRelation ? ((LogicalRelation) leaf).relation() : null;
        Object location = relation instanceof HadoopFsRelation ? ((HadoopFsRelation) relation).location() : null;
        return location instanceof PlannedFiles ? (PlannedFiles) location : null;
    }

    /** The condition with the attribute names of the leaf; names in a query may differ from them in case. */
    public static Expression named(Expression condition, LogicalPlan leaf) {
        final Map names = new HashMap();
        for (int i = 0; i < leaf.output().size(); i++) {
            names.put(((Attribute) leaf.output().apply(i)).exprId(), leaf.output().apply(i));
        }
        return (Expression) condition.transformUp(new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return node instanceof Attribute && names.containsKey(((Attribute) node).exprId());
            }

            public Object applyOrElse(Object node, scala.Function1 otherwise) {
                return isDefinedAt(node) ? names.get(((Attribute) node).exprId()) : otherwise.apply(node);
            }
        });
    }

    /** Whether the files are those of one query, and not of a DataFrame that many queries may read. */
    public boolean isOfQuery() {
        return isOfQuery;
    }

    /** The same files without those in which no row can match the filter, for one query; null: all of them. */
    public PlannedFiles narrowed(Expression filter) {
        byte[] keep = filter == null ? null
                : keepMask(sequence(Collections.singletonList(filter)), sequence(Collections.emptyList()));
        PartitionFilter[] conditions = filter == null ? new PartitionFilter[0] : ofPartitions(filter);
        PlannedFiles found = new PlannedFiles();
        found.isOfQuery = true;
        found.table = table;
        found.total = total;
        found.partitionSchema = partitionSchema;
        found.files = files;
        found.values = values;
        found.planner = planner;
        found.byId = byId;
        found.nested = nested;
        found.remaining = new boolean[remaining.length];
        for (int i = 0; i < remaining.length; i++) {
            found.remaining[i] = remaining[i] && (keep == null || keep[i] != 0) && mayMatch(conditions, values[i]);
            found.totalSize += found.remaining[i] ? files.length(i) : 0L;
        }
        return found;
    }

    /**
     * The number of rows that match the filters; -1 if it is unknown, or if a filter is not over partition columns
     * alone.
     *
     * @param isLive whether deleted rows are left out
     */
    public long count(Seq filters, boolean isLive) {
        PartitionFilter[] conditions = new PartitionFilter[filters.size()];
        for (int i = 0; i < conditions.length; i++) {
            Expression filter = (Expression) filters.apply(i);
            if (!isOfPartitions(filter)) {
                return -1L;
            }
            conditions[i] = new PartitionFilter(filter, partitionSchema);
        }
        byte[] counted = new byte[remaining.length];
        boolean isAll = true;
        for (int i = 0; i < counted.length; i++) {
            counted[i] = (byte) (remaining[i] && matches(conditions, values[i]) ? 1 : 0);
            isAll &= counted[i] == 1;
        }
        return ((ToLongBiFunction) planner).applyAsLong(isAll ? null : counted, Boolean.valueOf(isLive));
    }

    /**
     * Whether both are the same files of the same plan. Then Spark may read them once for two parts of a query. Those of
     * a DataFrame are others, or Spark would take the copy for one query back as no change.
     */
    public boolean equals(Object other) {
        return other instanceof PlannedFiles && ((PlannedFiles) other).files == files
                && ((PlannedFiles) other).isOfQuery == isOfQuery
                && Arrays.equals(((PlannedFiles) other).remaining, remaining);
    }

    public int hashCode() {
        return System.identityHashCode(files);
    }

    public Seq rootPaths() {
        return sequence(Collections.singletonList(new Path(label())));
    }

    /**
     * What EXPLAIN shows as the location: the files that are left by a query's conditions, of those of the table; after
     * the query has run, the files that it read, which dynamic pruning may have made fewer.
     */
    public String label() {
        long read = ScannedFiles.of(this, (QueryExecution) execution.get());
        return table + ", " + (read < 0L ? String.valueOf(count()) : "scanned " + read) + " of " + total + " files";
    }

    private int count() {
        int found = 0;
        for (int i = 0; i < remaining.length; i++) {
            found += remaining[i] ? 1 : 0;
        }
        return found;
    }

    /** The setting that makes Spark choose its row-based reader, which ignores field ids; null if there is none. */
    public static String offendingSetting(SQLConf conf, boolean nested) {
        if (!conf.parquetVectorizedReaderEnabled()) {
            return SQLConf.PARQUET_VECTORIZED_READER_ENABLED().key();
        }
        return nested && !conf.parquetVectorizedReaderNestedColumnEnabled()
                ? SQLConf.PARQUET_VECTORIZED_READER_NESTED_COLUMN_ENABLED().key() : null;
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        String offending = byId ? offendingSetting(SQLConf.get(), nested) : null;
        if (offending != null) {
            throw new IllegalStateException("the table's columns are found by field id, which Spark's Parquet reader "
                    + "does for vectors alone: set " + offending + " to true");
        }
        execution = new WeakReference(ScannedFiles.execution());
        byte[] keep = keepMask(partitionFilters, dataFilters);
        PartitionFilter[] conditions = new PartitionFilter[partitionFilters.size()];
        for (int i = 0; i < conditions.length; i++) {
            conditions[i] = new PartitionFilter((Expression) partitionFilters.apply(i), partitionSchema);
        }
        List directories = new ArrayList();
        int start = 0;
        while (start < remaining.length) {
            // Consecutive files with the same values form one directory, because each directory costs Spark time.
            int stop = start + 1;
            while (stop < remaining.length && (values[stop] == values[start] || values[stop].equals(values[start]))) {
                stop++;
            }
            FileStatus[] statuses = statuses(start, stop, keep);
            if (statuses.length > 0 && matches(conditions, values[start])) {
                directories.add(PartitionDirectory.apply(values[start], statuses));
            }
            start = stop;
        }
        return sequence(directories);
    }

    /** The parts of a condition that are over partition columns alone. */
    private PartitionFilter[] ofPartitions(Expression condition) {
        List found = new ArrayList();
        List open = new ArrayList(Collections.singletonList(condition));
        while (!open.isEmpty()) {
            Expression part = (Expression) open.remove(open.size() - 1);
            if (part instanceof And) {
                open.add(((And) part).right());
                open.add(((And) part).left());
            } else if (partitionSchema.length() > 0 && isOfPartitions(part)) {
                found.add(new PartitionFilter(part, partitionSchema));
            }
        }
        return (PartitionFilter[]) found.toArray(new PartitionFilter[0]);
    }

    /** Whether the filter is over partition columns alone and can be evaluated here. */
    private boolean isOfPartitions(Expression filter) {
        Seq attributes = (Seq) filter.references().toSeq();
        for (int i = 0; i < attributes.size(); i++) {
            if (partitionSchema.getFieldIndex(((Attribute) attributes.apply(i)).name()).isEmpty()) {
                return false;
            }
        }
        return filter.deterministic() && !SubqueryExpression.hasSubquery(filter);
    }

    /** The files from {@code start} to below {@code stop} that remain and that {@code keep} does not drop. */
    private FileStatus[] statuses(int start, int stop, byte[] keep) {
        int[] found = new int[stop - start];
        int count = 0;
        for (int i = start; i < stop; i++) {
            if (remaining[i] && (keep == null || keep[i] != 0)) {
                found[count] = i;
                count++;
            }
        }
        return files.get(found, count);
    }

    /** As {@link #matches}, and true where a filter cannot be evaluated: Spark evaluates it when it runs the query. */
    private static boolean mayMatch(PartitionFilter[] filters, InternalRow row) {
        try {
            return matches(filters, row);
        } catch (Exception e) {
            return true;
        }
    }

    private static boolean matches(PartitionFilter[] filters, InternalRow row) {
        for (int i = 0; i < filters.length; i++) {
            if (!filters[i].matches(row)) {
                return false;
            }
        }
        return true;
    }

    /** A Scala sequence, made by methods that Scala 2.12 and 2.13 both have. */
    private static Seq sequence(List items) {
        return (Seq) JavaConverters.asScalaBuffer(items).toIndexedSeq();
    }

    /** A byte per file, zero if no row can match the filters; null to keep all. */
    private byte[] keepMask(Seq partitionFilters, Seq dataFilters) {
        try {
            List nodes = new ArrayList();
            addNodes(partitionFilters, nodes);
            addNodes(dataFilters, nodes);
            if (nodes.isEmpty() || remaining.length == 0) {
                return null;
            }
            byte[] keep = (byte[]) planner.apply(JSON.writeValueAsString(nodes));
            return keep != null && keep.length == remaining.length ? keep : null;
        } catch (Throwable t) {
            LOG.debug("filters were not planned, every file is kept", t);
            return null;
        }
    }

    private static void addNodes(Seq filters, List nodes) {
        for (int i = 0; i < filters.size(); i++) {
            List node = CatalystFilters.weaker((Expression) filters.apply(i));
            if (node != null) {
                nodes.add(node);
            }
        }
    }

    public String[] inputFiles() {
        List uris = new ArrayList();
        for (int i = 0; i < remaining.length; i++) {
            if (remaining[i]) {
                // hadoop_access.py reads with options of a relation's own under a scheme of its own.
                uris.add(files.get(i).getPath().toUri().toString().replaceFirst("^tf3a[0-9a-f]{12}:", "s3a:"));
            }
        }
        return (String[]) uris.toArray(new String[0]);
    }

    public void refresh() {
        // The plan is of one version, so there is nothing to refresh.
    }

    /** The bytes of the remaining files, see {@link PrunedFiles}. Spark chooses joins by it. */
    public long sizeInBytes() {
        return totalSize;
    }

    public StructType partitionSchema() {
        return partitionSchema;
    }

    /** A filter over partition columns, evaluated by Spark's own interpreter. */
    private static class PartitionFilter {
        private final BasePredicate predicate;
        private final int[] ordinals;
        private final DataType[] types;

        PartitionFilter(Expression filter, StructType schema) {
            Seq attributes = (Seq) filter.references().toSeq();
            ordinals = new int[attributes.size()];
            types = new DataType[ordinals.length];
            for (int i = 0; i < ordinals.length; i++) {
                Attribute attribute = (Attribute) attributes.apply(i);
                ordinals[i] = schema.fieldIndex(attribute.name());
                types[i] = attribute.dataType();
            }
            Expression bound = (Expression) BindReferences.bindReference(filter,
                    new org.apache.spark.sql.catalyst.expressions.package$AttributeSeq(attributes), false);
            predicate = Predicate$.MODULE$.createInterpreted(bound);
            predicate.initialize(0);
        }

        boolean matches(InternalRow row) {
            Object[] found = new Object[ordinals.length];
            for (int i = 0; i < found.length; i++) {
                found[i] = row.get(ordinals[i], types[i]);
            }
            return predicate.eval(new GenericInternalRow(found));
        }
    }
}
