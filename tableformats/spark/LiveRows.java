package tableformats.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import org.apache.hadoop.io.WritableComparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.BitwiseOr;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.OctetLength;
import org.apache.spark.sql.catalyst.expressions.ShiftLeft;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.TernaryExpression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction3;

/**
 * Whether a row is not among its file's deleted ones: a test on the bytes that {@code positions.py} describes.
 *
 * Executors know nothing of this class. To them goes the Java text that Spark's code generation makes of it, and where
 * there is none (generation switched off, a method too large) the class is replaced, as it is serialised, by
 * expressions of Spark that say the same.
 */
public class LiveRows extends TernaryExpression implements java.io.Serializable {
    private static final int PAGE = 12;

    private final Expression pages;
    private final Expression words;
    private final Expression row;

    /** @param pages, words binary, the file's; row bigint, where the row stands in the file; none is NULL */
    public LiveRows(Expression pages, Expression words, Expression row) {
        this.pages = pages;
        this.words = words;
        this.row = row;
    }

    public TreeNode first() {
        return pages;
    }

    public TreeNode second() {
        return words;
    }

    public TreeNode third() {
        return row;
    }

    public TreeNode withNewChildrenInternal(TreeNode first, TreeNode second, TreeNode third) {
        return new LiveRows((Expression) first, (Expression) second, (Expression) third);
    }

    public DataType dataType() {
        return DataTypes.BooleanType;
    }

    public String prettyName() {
        return "is_live";
    }

    public Object nullSafeEval(Object pages, Object words, Object row) {
        long position = ((Long) row).longValue();
        byte[] starts = (byte[]) pages;
        int page = (int) Math.min(position >> PAGE, (long) (starts.length / 4 - 1));
        int start = WritableComparator.readInt(starts, 4 * page);
        int bits = ((byte[]) words)[start + (((int) position >> 3 & 511) ^ 3)];
        return Boolean.valueOf((bits >> ((int) position & 7) & 1) == 0);
    }

    /** A page's place is looked up when the page or the file is another than the row's before. */
    public ExprCode doGenCode(final CodegenContext context, final ExprCode code) {
        final String page = state(context, "long", "page");
        final String of = state(context, "byte[]", "pages");
        final String start = state(context, "int", "start");
        return nullSafeCodeGen(context, code, new AbstractFunction3() {
            public Object apply(Object pages, Object words, Object row) {
                return "if (" + page + " != " + row + " >> 12 || " + of + " != " + pages + ") {\n"
                        + "  " + of + " = " + pages + ";\n"
                        + "  " + page + " = " + row + " >> 12;\n"
                        + "  " + start + " = org.apache.hadoop.io.WritableComparator.readInt(" + of + ", 4 * (int) "
                        + "Math.min(" + page + ", (long) (" + of + ".length / 4 - 1)));\n"
                        + "}\n"
                        + code.value() + " = (" + words + "[" + start + " + (((int) " + row + " >> 3 & 511) ^ 3)]"
                        + " >> ((int) " + row + " & 7) & 1) == 0;";
            }
        });
    }

    private static String state(CodegenContext context, String type, String name) {
        return context.addMutableState(type, name, context.addMutableState$default$3(), true, true);
    }

    /** What an executor gets that evaluates this itself. Public, because Janino gives private methods other names. */
    public Object writeReplace() {
        Expression last = call(Math.class, "addExact", new ShiftRight(new OctetLength(pages), number(2)), number(-1));
        Expression page = call(Math.class, "min", small(new ShiftRight(row, number(PAGE))), last);
        Expression start = readInt(pages, new ShiftLeft(page, number(2)));
        Expression at = small(new BitwiseAnd(new ShiftRight(row, number(3)),
                new Literal(Long.valueOf(508L), DataTypes.LongType)));
        Expression bit = new ShiftRight(readInt(words, new BitwiseOr(start, at)),
                small(new BitwiseAnd(row, new Literal(Long.valueOf(31L), DataTypes.LongType))));
        return new EqualTo(new BitwiseAnd(bit, number(1)), number(0));
    }

    private static Expression number(int value) {
        return new Literal(Integer.valueOf(value), DataTypes.IntegerType);
    }

    private static Expression small(Expression number) {
        return call(Math.class, "toIntExact", new Expression[] {number});
    }

    private static Expression readInt(Expression bytes, Expression at) {
        return call(WritableComparator.class, "readInt", bytes, at);
    }

    private static Expression call(Class of, String method, Expression first, Expression second) {
        return call(of, method, new Expression[] {first, second});
    }

    private static Expression call(Class of, String method, Expression[] arguments) {
        Object[] all = new Object[] {of, DataTypes.IntegerType, method, sequence(Arrays.asList(arguments)),
            sequence(Collections.emptyList()), Boolean.TRUE, Boolean.FALSE, Boolean.TRUE, Option.empty()};
        Constructor constructor = StaticInvoke.class.getConstructors()[0];
        try {
            // Spark 3.5 lacks the last, the function of a catalog that is called.
            return (Expression) constructor.newInstance(Arrays.copyOf(all, constructor.getParameterCount()));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Seq sequence(List items) {
        return (Seq) JavaConverters.asScalaBuffer(new ArrayList(items)).toIndexedSeq();
    }

    public int productArity() {
        return 3;
    }

    public Object productElement(int number) {
        return number == 0 ? pages : number == 1 ? words : row;
    }

    public boolean canEqual(Object other) {
        return other instanceof LiveRows;
    }

    public boolean equals(Object other) {
        return other instanceof LiveRows && pages.equals(((LiveRows) other).pages)
                && words.equals(((LiveRows) other).words) && row.equals(((LiveRows) other).row);
    }

    public int hashCode() {
        return Arrays.asList(new Object[] {pages, words, row}).hashCode();
    }
}
