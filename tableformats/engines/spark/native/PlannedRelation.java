package tableformats.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * A relation over planned files, with a name that says of which table, and how many.
 *
 * EXPLAIN and the nodes of Spark's UI show the name ("Scan parquet (delta events@v17, 2 of 12 files)"). jvm.py puts in
 * the type of the session, which depends on the version of Spark.
 */
public class PlannedRelation extends HadoopFsRelation {
    public PlannedRelation(PlannedFiles files, StructType partitions, StructType data, FileFormat format, Map options,
            Object session) {
        super(files, partitions, data, Option.empty(), format, options, (SparkSession) session);
    }

    /** The same relation over other files of the same plan. */
    public static HadoopFsRelation of(PlannedFiles files, HadoopFsRelation other) {
        return new PlannedRelation(files, other.partitionSchema(), other.dataSchema(), other.fileFormat(), other.options(),
                other.sparkSession());
    }

    /**
     * The name of the format, as of any relation, because Spark compares it with the formats in its settings: with
     * another name, filters on members of structs do not reach the reader. The node of a scan alone gets the long name.
     */
    public String toString() {
        return isForNode() ? super.toString() + " (" + ((PlannedFiles) location()).label() + ")" : super.toString();
    }

    /** Whether the first method of Spark's that waits for the name is the one that makes the name of a scan's node. */
    private static boolean isForNode() {
        StackTraceElement[] calls = new Throwable().getStackTrace();
        for (int i = 0; i < calls.length; i++) {
            String name = calls[i].getClassName();
            if (name.startsWith("org.apache.spark.") && !name.equals(HadoopFsRelation.class.getName())) {
                return name.equals("org.apache.spark.sql.execution.DataSourceScanExec");
            }
        }
        return false;
    }
}
