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
 * Tests that a row is not deleted, on bytes in the layout that {@code positions.py} describes.
 *
 * Executors do not have this class. Spark's code generation turns it into Java source, which is what they get. Where no
 * code is generated (generation switched off, too many columns, a method too large), serialisation replaces the object
 * with equivalent expressions of Spark.
 */
public class LiveRows extends BinaryExpression implements java.io.Serializable {
    private static final int PAGE = 12;

    private final Expression address;
    private final Expression row;
    private final DeletedRows deleted;

    /** @param address bigint, not NULL: the number of the file's piece; in the lower 32 bits, the file's offset there
     *  @param row bigint, not NULL: the row's position in the file */
    public LiveRows(Expression address, Expression row, DeletedRows deleted) {
        this.address = address;
        this.row = row;
        this.deleted = deleted;
    }

    public TreeNode left() {
        return address;
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

    public Object nullSafeEval(Object address, Object row) {
        long position = ((Long) row).longValue();
        int file = ((Long) address).intValue();
        int piece = (int) (((Long) address).longValue() >> 32);
        byte[] bytes = (byte[]) ((Broadcast) deleted.pieces().get(piece)).value();
        long page = Math.min(position >> PAGE, (long) WritableComparator.readInt(bytes, file));
        int start = WritableComparator.readInt(bytes, file + 4 + 4 * (int) page);
        return Boolean.valueOf((bytes[start + ((int) (position >> 3) & 511)] >> ((int) position & 7) & 1) == 0);
    }

    /**
     * A page is looked up only when the page or the file differs from that of the row before; a file's piece only when
     * the file differs, or once per task where there is only one piece. So the loop over rows calls no method. With a
     * call in the loop, however rare, the JIT compiler would reload the fields of Spark's vectors for each row.
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
            public Object apply(Object address, Object row) {
                return "if (" + page + " != " + row + " >> 12 || " + file + " != " + address + ") {\n"
                        + "  if (" + file + " != " + address + ") {\n"
                        + "    " + file + " = " + address + ";\n"
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

    /** A variable of the generated code. Numbers start with 0, which is no file's address. */
    private static String state(CodegenContext context, String type, String name, final String first) {
        return context.addMutableState(type, name, new AbstractFunction1() {
            public Object apply(Object variable) {
                return variable + " = " + first + ";";
            }
        }, true, true);
    }

    /** The expression that is serialised instead of this one. Public, because Janino renames private methods. */
    public Object writeReplace() {
        Expression piece = invoke(new Literal(deleted.pieces(), new ObjectType(List.class)), "get",
                new ObjectType(Broadcast.class), new Expression[] {small(new ShiftRight(address, number(32)))});
        Expression bytes = invoke(piece, "value", DataTypes.BinaryType, new Expression[0]);
        Expression file = small(new BitwiseAnd(address, new Literal(Long.valueOf(0x7fffffffL), DataTypes.LongType)));
        Expression page = call(Math.class, "min", small(new ShiftRight(row, number(PAGE))), readInt(bytes, file));
        Expression entry = sum(number(4), call(Math.class, "multiplyExact", page, number(4)));
        Expression start = readInt(bytes, sum(file, entry));
        Expression word = small(new BitwiseAnd(new ShiftRight(row, number(3)),
                new Literal(Long.valueOf(508L), DataTypes.LongType)));
        // readInt takes the first byte as the highest.
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

    /** Makes an expression; only StaticInvoke of Spark 4 has the last argument, the catalog function. */
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
        return number == 0 ? address : number == 1 ? row : deleted;
    }

    public boolean canEqual(Object other) {
        return other instanceof LiveRows;
    }

    public boolean equals(Object other) {
        return other instanceof LiveRows && address.equals(((LiveRows) other).address)
                && row.equals(((LiveRows) other).row) && deleted == ((LiveRows) other).deleted;
    }

    public int hashCode() {
        return Arrays.asList(new Object[] {address, row, deleted}).hashCode();
    }
}
