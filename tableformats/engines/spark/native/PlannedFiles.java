package tableformats.spark;

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
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
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
 * The files of one plan as Spark's file index: nothing is listed, and a query's filters drop files when it is planned.
 *
 * Partition values are constants of a file. Filters over them alone are evaluated here, exactly, because Spark leaves
 * them out of the query afterwards. All filters also go to the planner, which answers with a byte a file, zero for
 * those where no row can match; an error there keeps every file. The planner is called in the driver only.
 */
public class PlannedFiles implements FileIndex {
    private static final Logger LOG = LoggerFactory.getLogger("tableformats.spark.PlannedFiles");
    private static final ObjectMapper JSON = new ObjectMapper();

    private Path root;
    private StructType partitionSchema;
    private FileList files;
    private InternalRow[] values;
    private Function planner;
    private boolean byId;
    private boolean nested;
    private boolean[] left;
    private long totalSize;

    /**
     * @param label what EXPLAIN shows as the location
     * @param values a row of partition values for each file
     * @param planner a Function, JSON (a list of {@link CatalystFilters} nodes) to byte[files], null keeps all; and a
     *     ToLongBiFunction, byte[files] (zero passes over the file; null: all) and whether deleted rows are left out to
     *     the number of rows, -1 where it is not known
     * @param byId whether the reader finds columns by Parquet field id; nested: and reads nested ones
     */
    public PlannedFiles open(String label, FileList files, List values, StructType partitionSchema, Function planner,
            boolean byId, boolean nested) {
        this.byId = byId;
        this.nested = nested;
        this.root = new Path(label);
        this.partitionSchema = partitionSchema;
        this.planner = planner;
        this.files = files;
        this.values = new InternalRow[files.size()];
        this.left = new boolean[files.size()];
        Arrays.fill(left, true);
        for (int i = 0; i < left.length; i++) {
            this.values[i] = (InternalRow) values.get(i);
            totalSize += files.length(i);
        }
        return this;
    }

    /** The files that a plan's leaf reads; null where they are not ours. */
    public static PlannedFiles of(LogicalPlan leaf) {
        Object relation = leaf instanceof LogicalRelation ? ((LogicalRelation) leaf).relation() : null;
        Object location = relation instanceof HadoopFsRelation ? ((HadoopFsRelation) relation).location() : null;
        return location instanceof PlannedFiles ? (PlannedFiles) location : null;
    }

    /** The condition with the leaf's own names: a query's may differ in case. */
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

    /** The same files without those in which no row can meet the filter. */
    public PlannedFiles narrowed(Expression filter) {
        byte[] keep = ask(sequence(Collections.singletonList(filter)), sequence(Collections.emptyList()));
        PlannedFiles found = new PlannedFiles();
        found.root = root;
        found.partitionSchema = partitionSchema;
        found.files = files;
        found.values = values;
        found.planner = planner;
        found.byId = byId;
        found.nested = nested;
        found.left = new boolean[left.length];
        for (int i = 0; i < left.length; i++) {
            found.left[i] = left[i] && (keep == null || keep[i] != 0);
            found.totalSize += found.left[i] ? files.length(i) : 0L;
        }
        return found;
    }

    /**
     * How many rows there are for which the filters hold; -1 where that is not known, or a filter is not over partition
     * columns alone.
     *
     * @param isLive whether deleted rows are left out
     */
    public long count(Seq filters, boolean isLive) {
        Constant[] constants = new Constant[filters.size()];
        for (int i = 0; i < constants.length; i++) {
            Expression filter = (Expression) filters.apply(i);
            if (!isOfPartitions(filter)) {
                return -1L;
            }
            constants[i] = new Constant(filter, partitionSchema);
        }
        byte[] counted = new byte[left.length];
        boolean isAll = true;
        for (int i = 0; i < counted.length; i++) {
            counted[i] = (byte) (left[i] && holds(constants, values[i]) ? 1 : 0);
            isAll &= counted[i] == 1;
        }
        return ((ToLongBiFunction) planner).applyAsLong(isAll ? null : counted, Boolean.valueOf(isLive));
    }

    /** The same files of the same plan, so that Spark may read them once for two places of a query. */
    public boolean equals(Object other) {
        return other instanceof PlannedFiles && ((PlannedFiles) other).files == files
                && Arrays.equals(((PlannedFiles) other).left, left);
    }

    public int hashCode() {
        return System.identityHashCode(files);
    }

    public Seq rootPaths() {
        return sequence(Collections.singletonList(root));
    }

    /** The setting under which Spark's reader of rows takes over, which finds no column by field id; null: none. */
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
        byte[] keep = ask(partitionFilters, dataFilters);
        Constant[] constants = new Constant[partitionFilters.size()];
        for (int i = 0; i < constants.length; i++) {
            constants[i] = new Constant((Expression) partitionFilters.apply(i), partitionSchema);
        }
        List directories = new ArrayList();
        int start = 0;
        while (start < left.length) {
            // Files with the same values are one directory, because Spark spends time on each.
            int stop = start + 1;
            while (stop < left.length && (values[stop] == values[start] || values[stop].equals(values[start]))) {
                stop++;
            }
            FileStatus[] kept = kept(start, stop, keep);
            if (kept.length > 0 && holds(constants, values[start])) {
                directories.add(PartitionDirectory.apply(values[start], kept));
            }
            start = stop;
        }
        return sequence(directories);
    }

    /** Whether the filter is one that can be evaluated here, and over partition columns alone. */
    private boolean isOfPartitions(Expression filter) {
        Seq attributes = (Seq) filter.references().toSeq();
        for (int i = 0; i < attributes.size(); i++) {
            if (partitionSchema.getFieldIndex(((Attribute) attributes.apply(i)).name()).isEmpty()) {
                return false;
            }
        }
        return filter.deterministic() && !SubqueryExpression.hasSubquery(filter);
    }

    private FileStatus[] kept(int start, int stop, byte[] keep) {
        int[] found = new int[stop - start];
        int count = 0;
        for (int i = start; i < stop; i++) {
            if (left[i] && (keep == null || keep[i] != 0)) {
                found[count] = i;
                count++;
            }
        }
        return files.get(found, count);
    }

    private static boolean holds(Constant[] constants, InternalRow row) {
        for (int i = 0; i < constants.length; i++) {
            if (!constants[i].holds(row)) {
                return false;
            }
        }
        return true;
    }

    /** Goes through what Scala 2.12 and 2.13 both have; adding to a Scala buffer is spelled differently in each. */
    private static Seq sequence(List items) {
        return (Seq) JavaConverters.asScalaBuffer(items).toIndexedSeq();
    }

    private byte[] ask(Seq partitionFilters, Seq dataFilters) {
        try {
            List known = new ArrayList();
            addKnown(partitionFilters, known);
            addKnown(dataFilters, known);
            if (known.isEmpty() || left.length == 0) {
                return null;
            }
            byte[] keep = (byte[]) planner.apply(JSON.writeValueAsString(known));
            return keep != null && keep.length == left.length ? keep : null;
        } catch (Throwable t) {
            LOG.debug("filters were not planned, every file is kept", t);
            return null;
        }
    }

    private static void addKnown(Seq filters, List known) {
        for (int i = 0; i < filters.size(); i++) {
            List node = CatalystFilters.weaker((Expression) filters.apply(i));
            if (node != null) {
                known.add(node);
            }
        }
    }

    public String[] inputFiles() {
        List uris = new ArrayList();
        for (int i = 0; i < left.length; i++) {
            if (left[i]) {
                uris.add(files.get(i).getPath().toUri().toString());
            }
        }
        return (String[]) uris.toArray(new String[0]);
    }

    public void refresh() {
        // A plan is of one version: there is nothing newer to see.
    }

    /** Of the files that {@link PrunedFiles} left: what Spark chooses joins by. */
    public long sizeInBytes() {
        return totalSize;
    }

    public StructType partitionSchema() {
        return partitionSchema;
    }

    /** A filter over partition columns, evaluated by Spark's own interpreter. */
    private static class Constant {
        private final BasePredicate predicate;
        private final int[] ordinals;
        private final DataType[] types;

        Constant(Expression filter, StructType schema) {
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

        boolean holds(InternalRow row) {
            Object[] found = new Object[ordinals.length];
            for (int i = 0; i < found.length; i++) {
                found[i] = row.get(ordinals[i], types[i]);
            }
            return predicate.eval(new GenericInternalRow(found));
        }
    }
}
