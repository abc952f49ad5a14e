package tableformats.spark;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NaNvl;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;

/**
 * Makes DataFrames over planned files in one call from Python, and with one analysis by Spark; both cost time.
 *
 * The session is an Object, used through reflection, because its package differs between Spark 3.5 and Spark 4.
 */
public class Relations {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Object session;
    private String dataset;

    /** @param dataset the name of the class that has {@code ofRows} for this session */
    public Relations open(Object session, String dataset) {
        this.session = session;
        this.dataset = dataset;
        return this;
    }

    /** See {@link FileList#open}. */
    public FileList files(int total, int each) {
        return new FileList().open(total, each);
    }

    /** See {@link PlannedFiles#offendingSetting}; asks the session's settings. */
    public String offendingSetting(boolean nested) throws Exception {
        return PlannedFiles.offendingSetting(((SessionState) of(session, "sessionState")).conf(), nested);
    }

    /**
     * A DataFrame of the files' rows. See {@link PlannedFiles#open} for table, total, values, planner, byId and nested.
     *
     * @param values null if there are no partition columns
     * @param partitions Spark's JSON of the partition columns
     * @param data Spark's JSON of the columns that files hold
     * @param reader the name of Spark's class that reads the files
     * @param options JSON of the reader's options
     * @param live a condition that is true for live rows; null if all rows are live
     * @param columns the columns of the DataFrame as JSON, a list of [stored name, name, whether it is a float]; null
     *     for all columns under their stored names
     */
    public Object frame(String table, int total, FileList files, List values, String partitions, String data, String reader,
            String options, Function planner, boolean byId, boolean nested, Expression live, String columns)
            throws Exception {
        StructType partitionSchema = (StructType) DataType.fromJson(partitions);
        List rows = values == null ? Collections.nCopies(files.size(), InternalRow.empty()) : values;
        PlannedFiles index = new PlannedFiles().open(table, total, files, rows, partitionSchema, planner, byId, nested);
        new PrunedFiles().install((ExperimentalMethods) of(session, "experimental"));
        PlannedRelation relation = new PlannedRelation(index, partitionSchema, (StructType) DataType.fromJson(data),
                (FileFormat) Class.forName(reader).newInstance(),
                PythonUtils.toScalaMap((Map) JSON.readValue(options, Map.class)), session);
        LogicalPlan plan = LogicalRelation$.MODULE$.apply(relation, false);
        if (live != null) {
            plan = new Filter(live, plan);
        }
        if (columns != null) {
            plan = new Project(output((List) JSON.readValue(columns, List.class)), plan);
        }
        return called(ofRows(Class.forName(dataset)), null, new Object[] {session, plan});
    }

    private static Seq output(List columns) {
        List found = new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            List column = (List) columns.get(i);
            String name = (String) column.get(1);
            boolean isFloat = ((Boolean) column.get(2)).booleanValue();
            Expression stored = UnresolvedAttribute.quoted((String) column.get(0));
            if (!isFloat && name.equals(column.get(0))) {
                found.add(stored);
                continue;
            }
            // An expression of the same value, which filters are not pushed through: see result_columns.py.
            Expression value = isFloat ? new NaNvl(stored, stored) : stored;
            found.add(new Alias(value, name, NamedExpression$.MODULE$.newExprId(), none(), Option.empty(), none()));
        }
        return (Seq) JavaConverters.asScalaBuffer(found).toIndexedSeq();
    }

    private static Seq none() {
        return (Seq) JavaConverters.asScalaBuffer(new ArrayList()).toIndexedSeq();
    }

    private static Object of(Object object, String property) throws Exception {
        return called(object.getClass().getMethod(property, new Class[0]), object, new Object[0]);
    }

    private static Method ofRows(Class dataset) {
        Method[] methods = dataset.getMethods();
        for (int i = 0; i < methods.length; i++) {
            if (Modifier.isStatic(methods[i].getModifiers()) && methods[i].getName().equals("ofRows")
                    && methods[i].getParameterTypes().length == 2) {
                return methods[i];
            }
        }
        throw new IllegalStateException("this Spark has no " + dataset.getName() + ".ofRows(session, plan)");
    }

    private static Object called(Method method, Object object, Object[] arguments) throws Exception {
        try {
            return method.invoke(object, arguments);
        } catch (InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }
}
