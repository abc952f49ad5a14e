package tableformats.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import org.apache.hadoop.io.WritableComparator;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.BinaryExpression;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.BitwiseXor;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;

/**
 * Whether a row is not among its file's deleted ones: a test on the bytes that {@code positions.py} describes.
 *
 * Executors know nothing of this class. To them goes the Java text that Spark's code generation makes of it, and where
 * there is none (generation switched off, too many columns, a method too large) the class is replaced, as it is
 * serialised, by expressions of Spark that say the same.
 */
public class LiveRows extends BinaryExpression implements java.io.Serializable {
    private static final int PAGE = 12;

    private final Expression place;
    private final Expression row;
    private final DeletedRows deleted;

    /** @param place bigint, the number of the file's piece and, in the lower half, where in it the file begins
     *  @param row bigint, where the row stands in the file; neither is NULL */
    public LiveRows(Expression place, Expression row, DeletedRows deleted) {
        this.place = place;
        this.row = row;
        this.deleted = deleted;
    }

    public TreeNode left() {
        return place;
    }

    public TreeNode right() {
        return row;
    }

    public TreeNode withNewChildrenInternal(TreeNode left, TreeNode right) {
        return new LiveRows((Expression) left, (Expression) right, deleted);
    }

    public DataType dataType() {
        return DataTypes.BooleanType;
    }

    public String prettyName() {
        return "is_live";
    }

    public Object nullSafeEval(Object place, Object row) {
        long position = ((Long) row).longValue();
        int file = ((Long) place).intValue();
        int piece = (int) (((Long) place).longValue() >> 32);
        byte[] bytes = (byte[]) ((Broadcast) deleted.pieces().get(piece)).value();
        long page = Math.min(position >> PAGE, (long) WritableComparator.readInt(bytes, file));
        int start = WritableComparator.readInt(bytes, file + 4 + 4 * (int) page);
        return Boolean.valueOf((bytes[start + ((int) (position >> 3) & 511)] >> ((int) position & 7) & 1) == 0);
    }

    /**
     * A page's place is looked up when the page or the file is another than the row's before, a file's piece with the
     * file, or once for a task where there is but one. Then nothing is called in the loop over rows: beside a call,
     * however rare, the JIT compiler would load anew for each row all that belongs to Spark's vectors.
     */
    public ExprCode doGenCode(final CodegenContext context, final ExprCode code) {
        String pieces = context.addReferenceObj("pieces", deleted.pieces(), List.class.getName());
        boolean isOne = deleted.pieces().size() == 1;
        final String bytes = state(context, "byte[]", "bytes", isOne ? piece(pieces, "0") : "null");
        final String file = state(context, "long", "file", "0");
        final String page = state(context, "long", "page", "0");
        final String start = state(context, "int", "start", "0");
        final String at = context.freshName("at");
        final String toPiece = isOne ? "" : bytes + " = " + piece(pieces, "(int) (" + file + " >> 32)") + ";\n";
        return nullSafeCodeGen(context, code, new AbstractFunction2() {
            public Object apply(Object place, Object row) {
                return "if (" + page + " != " + row + " >> 12 || " + file + " != " + place + ") {\n"
                        + "  if (" + file + " != " + place + ") {\n"
                        + "    " + file + " = " + place + ";\n"
                        + toPiece
                        + "  }\n"
                        + "  " + page + " = " + row + " >> 12;\n"
                        + "  int " + at + " = (int) " + file + ";\n"
                        + "  " + at + " += 4 + 4 * (int) Math.min(" + page + ", (long) " + intOf(bytes, at) + ");\n"
                        + "  " + start + " = " + intOf(bytes, at) + ";\n"
                        + "}\n"
                        + code.value() + " = (" + bytes + "[" + start + " + ((int) (" + row + " >> 3) & 511)]"
                        + " >> ((int) " + row + " & 7) & 1) == 0;";
            }
        });
    }

    private static String piece(String pieces, String number) {
        return "(byte[]) ((" + Broadcast.class.getName() + ") " + pieces + ".get(" + number + ")).value()";
    }

    private static String intOf(String bytes, String at) {
        return "(" + bytes + "[" + at + "] << 24 | (" + bytes + "[" + at + " + 1] & 255) << 16 | ("
                + bytes + "[" + at + " + 2] & 255) << 8 | " + bytes + "[" + at + " + 3] & 255)";
    }

    /** No file begins at place 0, which is what numbers start with. */
    private static String state(CodegenContext context, String type, String name, final String first) {
        return context.addMutableState(type, name, new AbstractFunction1() {
            public Object apply(Object variable) {
                return variable + " = " + first + ";";
            }
        }, true, true);
    }

    /** What an executor gets that evaluates this itself. Public, because Janino gives private methods other names. */
    public Object writeReplace() {
        Expression piece = invoke(new Literal(deleted.pieces(), new ObjectType(List.class)), "get",
                new ObjectType(Broadcast.class), new Expression[] {small(new ShiftRight(place, number(32)))});
        Expression bytes = invoke(piece, "value", DataTypes.BinaryType, new Expression[0]);
        Expression file = small(new BitwiseAnd(place, new Literal(Long.valueOf(0x7fffffffL), DataTypes.LongType)));
        Expression page = call(Math.class, "min", small(new ShiftRight(row, number(PAGE))), readInt(bytes, file));
        Expression entry = sum(number(4), call(Math.class, "multiplyExact", page, number(4)));
        Expression start = readInt(bytes, sum(file, entry));
        Expression word = small(new BitwiseAnd(new ShiftRight(row, number(3)),
                new Literal(Long.valueOf(508L), DataTypes.LongType)));
        // The bytes of an int are read from its highest.
        Expression bit = new BitwiseXor(
                small(new BitwiseAnd(row, new Literal(Long.valueOf(31L), DataTypes.LongType))), number(24));
        Expression bits = new ShiftRight(readInt(bytes, sum(start, word)), bit);
        return new EqualTo(new BitwiseAnd(bits, number(1)), number(0));
    }

    private static Expression number(int value) {
        return new Literal(Integer.valueOf(value), DataTypes.IntegerType);
    }

    private static Expression small(Expression number) {
        return call(Math.class, "toIntExact", new Expression[] {number});
    }

    private static Expression sum(Expression first, Expression second) {
        return call(Math.class, "addExact", first, second);
    }

    private static Expression readInt(Expression bytes, Expression at) {
        return call(WritableComparator.class, "readInt", bytes, at);
    }

    private static Expression call(Class of, String method, Expression first, Expression second) {
        return call(of, method, new Expression[] {first, second});
    }

    private static Expression call(Class of, String method, Expression[] arguments) {
        return make(StaticInvoke.class, new Object[] {of, DataTypes.IntegerType, method, sequence(arguments),
            sequence(new Expression[0]), Boolean.TRUE, Boolean.FALSE, Boolean.TRUE, Option.empty()});
    }

    private static Expression invoke(Expression of, String method, DataType type, Expression[] arguments) {
        return make(Invoke.class, new Object[] {of, method, type, sequence(arguments), sequence(new Expression[0]),
            Boolean.TRUE, Boolean.FALSE, Boolean.TRUE, Option.empty()});
    }

    /** The last argument, the function of a catalog that is called, only StaticInvoke of Spark 4 has. */
    private static Expression make(Class expression, Object[] arguments) {
        Constructor constructor = expression.getConstructors()[0];
        try {
            return (Expression) constructor.newInstance(Arrays.copyOf(arguments, constructor.getParameterCount()));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Seq sequence(Expression[] items) {
        return (Seq) JavaConverters.asScalaBuffer(new ArrayList(Arrays.asList(items))).toIndexedSeq();
    }

    public int productArity() {
        return 3;
    }

    public Object productElement(int number) {
        return number == 0 ? place : number == 1 ? row : deleted;
    }

    public boolean canEqual(Object other) {
        return other instanceof LiveRows;
    }

    public boolean equals(Object other) {
        return other instanceof LiveRows && place.equals(((LiveRows) other).place)
                && row.equals(((LiveRows) other).row) && deleted == ((LiveRows) other).deleted;
    }

    public int hashCode() {
        return Arrays.asList(new Object[] {place, row, deleted}).hashCode();
    }
}
