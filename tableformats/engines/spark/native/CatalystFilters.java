package tableformats.spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Greatest;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNaN;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NaNvl;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.expressions.StringRPad;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Converts Catalyst's predicates to nested lists, which the planner in Python reads as JSON.
 *
 * A node is [operator, operand, ...]; a column is ["column", name, ...] from the top level down, or
 * ["padded", length, column] where its values are padded as those of CHAR(length); a literal is
 * ["literal", type, text], where text is null for NULL. Dates are days, timestamps microseconds, binary values
 * hexadecimal. An expression that the planner does not know is left out where that only weakens the predicate; where it
 * would not, the result is null.
 */
public class CatalystFilters {
    private CatalystFilters() {
    }

    /** A predicate that is TRUE wherever {@code e} is TRUE; null if none can be expressed. */
    public static List weaker(Expression e) {
        if (e instanceof And) {
            return weakerAnd(weaker(((And) e).left()), weaker(((And) e).right()));
        }
        if (e instanceof Or) {
            return both("or", weaker(((Or) e).left()), weaker(((Or) e).right()));
        }
        if (e instanceof If) {
            // Spark writes filters on members of structs like this: FALSE where the struct is NULL.
            If choice = (If) e;
            if (isNeverTrue(choice.trueValue())) {
                return weaker(choice.falseValue());
            }
            List chosen = weakerAnd(weaker(choice.predicate()), weaker(choice.trueValue()));
            return isNeverTrue(choice.falseValue()) ? chosen : both("or", chosen, weaker(choice.falseValue()));
        }
        if (e instanceof CaseWhen) {
            return weakerCase((CaseWhen) e);
        }
        if (e instanceof EqualNullSafe && Literal.TrueLiteral().equals(((EqualNullSafe) e).right())
                && !(((EqualNullSafe) e).left() instanceof AttributeReference)) {
            // Spark rewrites CASE WHEN condition THEN true ELSE false END to this.
            return weaker(((EqualNullSafe) e).left());
        }
        if (e instanceof Coalesce) {
            return weakerCoalesce((Coalesce) e);
        }
        return exact(e);
    }

    /** The result is TRUE only if a branch's condition and value are both TRUE, or if the ELSE value is TRUE. */
    private static List weakerCase(CaseWhen e) {
        List found = null;
        scala.collection.Iterator branches = e.branches().iterator();
        boolean isFirst = true;
        while (branches.hasNext()) {
            scala.Tuple2 branch = (scala.Tuple2) branches.next();
            if (isNeverTrue((Expression) branch._2())) {
                continue;
            }
            List chosen = weakerAnd(weaker((Expression) branch._1()), weaker((Expression) branch._2()));
            found = isFirst ? chosen : both("or", found, chosen);
            isFirst = false;
        }
        if (e.elseValue().isDefined() && !isNeverTrue((Expression) e.elseValue().get())) {
            List chosen = weaker((Expression) e.elseValue().get());
            found = isFirst ? chosen : both("or", found, chosen);
        }
        return found;
    }

    /** The result is TRUE only if one of the operands is TRUE. */
    private static List weakerCoalesce(Coalesce e) {
        List found = null;
        scala.collection.Iterator operands = e.children().iterator();
        boolean isFirst = true;
        while (operands.hasNext()) {
            Expression operand = (Expression) operands.next();
            if (isNeverTrue(operand)) {
                continue;
            }
            found = isFirst ? weaker(operand) : both("or", found, weaker(operand));
            isFirst = false;
        }
        return found;
    }

    private static boolean isNeverTrue(Expression e) {
        return e instanceof Literal && !Boolean.TRUE.equals(((Literal) e).value());
    }

    /** The conjunction; if one side is null, the other one, which is weaker. */
    private static List weakerAnd(List left, List right) {
        return left == null ? right : right == null ? left : node("and", left, right);
    }

    private static List exact(Expression e) {
        if (e instanceof And) {
            return both("and", exact(((And) e).left()), exact(((And) e).right()));
        }
        if (e instanceof Or) {
            return both("or", exact(((Or) e).left()), exact(((Or) e).right()));
        }
        if (e instanceof Not) {
            return unary("not", exact(((Not) e).child()));
        }
        if (e instanceof EqualTo) {
            return comparison("=", "=", ((EqualTo) e).left(), ((EqualTo) e).right());
        }
        if (e instanceof EqualNullSafe) {
            return comparison("<=>", "<=>", ((EqualNullSafe) e).left(), ((EqualNullSafe) e).right());
        }
        if (e instanceof LessThan) {
            return comparison("<", ">", ((LessThan) e).left(), ((LessThan) e).right());
        }
        if (e instanceof LessThanOrEqual) {
            return comparison("<=", ">=", ((LessThanOrEqual) e).left(), ((LessThanOrEqual) e).right());
        }
        if (e instanceof GreaterThan) {
            return comparison(">", "<", ((GreaterThan) e).left(), ((GreaterThan) e).right());
        }
        if (e instanceof GreaterThanOrEqual) {
            return comparison(">=", "<=", ((GreaterThanOrEqual) e).left(), ((GreaterThanOrEqual) e).right());
        }
        if (e instanceof IsNull) {
            return unary("isnull", column(((IsNull) e).child()));
        }
        if (e instanceof IsNotNull) {
            List isNull = unary("isnull", column(((IsNotNull) e).child()));
            return unary("not", isNull);
        }
        if (e instanceof IsNaN) {
            return unary("isnan", column(((IsNaN) e).child()));
        }
        if (e instanceof StartsWith) {
            StartsWith s = (StartsWith) e;
            return both("startswith", column(s.left()), literal(s.right(), s.left().dataType()));
        }
        if (e instanceof In) {
            return in((In) e);
        }
        if (e instanceof InSet) {
            return inSet((InSet) e);
        }
        // A boolean column is a predicate by itself.
        return both("=", e.dataType().equals(DataTypes.BooleanType) ? column(e) : null,
                literal(DataTypes.BooleanType, Boolean.TRUE));
    }

    private static List comparison(String operator, String flipped, Expression left, Expression right) {
        List l = column(left);
        List r = column(right);
        if (l != null && r != null) {
            return left.dataType().equals(right.dataType()) ? node(operator, l, r) : null;
        }
        return l != null ? both(operator, l, literal(right, left.dataType()))
                : both(flipped, r, literal(left, right.dataType()));
    }

    private static List in(In e) {
        List column = column(e.value());
        if (column == null) {
            return null;
        }
        List found = new ArrayList();
        found.add("in");
        found.add(column);
        scala.collection.Iterator items = e.list().iterator();
        while (items.hasNext()) {
            List literal = literal((Expression) items.next(), e.value().dataType());
            if (literal == null) {
                return null;
            }
            found.add(literal);
        }
        return found;
    }

    private static List inSet(InSet e) {
        List column = column(e.child());
        if (column == null) {
            return null;
        }
        List found = new ArrayList();
        found.add("in");
        found.add(column);
        scala.collection.Iterator items = e.hset().iterator();
        while (items.hasNext()) {
            found.add(literal(e.child().dataType(), items.next()));
        }
        return found;
    }

    private static List column(Expression e) {
        if (e instanceof AttributeReference) {
            return node("column", ((AttributeReference) e).name());
        }
        if (e instanceof NaNvl && ((NaNvl) e).left().semanticEquals(((NaNvl) e).right())) {
            // result_columns.py wraps floats like this, so that Spark does not push their filters down to Parquet.
            return column(((NaNvl) e).left());
        }
        if (e instanceof StringRPad) {
            return padded((StringRPad) e);
        }
        if (e instanceof GetStructField) {
            return member((GetStructField) e);
        }
        if (e instanceof If) {
            return memberUnlessNull((If) e);
        }
        // Columns whose members have other names in files are cast to the names of the table.
        return renamed(e) == null ? null : column(renamed(e));
    }

    /** A member has the name that the relation reads it under, and must have the type that it is read with. */
    private static List member(GetStructField e) {
        StructField stored = stored(e);
        List parent = stored == null ? null : column(e.child());
        boolean areStructs = parent != null && stored.dataType() instanceof StructType
                && e.dataType() instanceof StructType;
        if (parent == null || !areStructs && !stored.dataType().equals(e.dataType())) {
            return null;
        }
        parent.add(stored.name());
        return parent;
    }

    /** Spark writes a member of a rebuilt struct as IF(struct IS NULL, NULL, struct.member), which is the member. */
    private static List memberUnlessNull(If e) {
        boolean isNullThen = e.trueValue() instanceof Literal && ((Literal) e.trueValue()).value() == null;
        List struct = isNullThen && e.predicate() instanceof IsNull
                ? column(((IsNull) e.predicate()).child()) : null;
        List member = struct == null ? null : column(e.falseValue());
        boolean isOfStruct = member != null && member.size() > struct.size()
                && member.subList(0, struct.size()).equals(struct);
        return isOfStruct ? member : null;
    }

    /** What is cast, where that only changes the members of structs: a cast of structs goes by their positions. */
    private static Expression renamed(Expression e) {
        boolean isOfStructs = e instanceof Cast && e.dataType() instanceof StructType
                && ((Cast) e).child().dataType() instanceof StructType;
        return isOfStructs ? ((Cast) e).child() : null;
    }

    /** The member as the relation reads it, before casts; null if it is no member of a column. */
    private static StructField stored(GetStructField e) {
        Expression parent = e.child();
        while (renamed(parent) != null) {
            parent = renamed(parent);
        }
        DataType type = parent.dataType();
        if (parent instanceof GetStructField) {
            StructField field = stored((GetStructField) parent);
            type = field == null ? null : field.dataType();
        }
        return type instanceof StructType ? ((StructType) type).fields()[e.ordinal()] : null;
    }

    /** How values of CHAR(n) are given to Spark: rpad(c, greatest(length(c), n), ' '). */
    private static List padded(StringRPad e) {
        if (!(e.len() instanceof Greatest) || !" ".equals(e.pad().toString())) {
            return null;
        }
        scala.collection.Iterator operands = ((Greatest) e.len()).children().iterator();
        Expression first = (Expression) operands.next();
        Expression second = operands.hasNext() ? (Expression) operands.next() : null;
        if (!(first instanceof Length) || !((Length) first).child().semanticEquals(e.str())
                || !(second instanceof Literal) || operands.hasNext()) {
            return null;
        }
        List column = column(e.str());
        return column == null ? null : node("padded", String.valueOf(((Literal) second).value()), column);
    }

    private static List literal(Expression e, DataType expected) {
        boolean fits = e instanceof Literal && e.dataType().equals(expected);
        return fits ? literal(expected, ((Literal) e).value()) : null;
    }

    private static List literal(DataType type, Object value) {
        List found = node("literal", type.typeName());
        found.add(value == null ? null : text(value));
        return found;
    }

    private static String text(Object value) {
        if (value instanceof byte[]) {
            StringBuilder hex = new StringBuilder();
            byte[] bytes = (byte[]) value;
            for (int i = 0; i < bytes.length; i++) {
                hex.append(Character.forDigit((bytes[i] >> 4) & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
            }
            return hex.toString();
        }
        if (value instanceof Decimal) {
            return ((Decimal) value).toJavaBigDecimal().toPlainString();
        }
        // Converted to double first, because the decimal digits of a float denote another number when read as a double.
        return value instanceof Float ? Double.toString(((Float) value).doubleValue()) : value.toString();
    }

    private static List unary(String operator, List operand) {
        return operand == null ? null : node(operator, operand);
    }

    private static List both(String operator, List left, List right) {
        return left == null || right == null ? null : node(operator, left, right);
    }

    private static List node(Object first, Object second) {
        List found = new ArrayList();
        found.add(first);
        found.add(second);
        return found;
    }

    private static List node(Object first, Object second, Object third) {
        List found = node(first, second);
        found.add(third);
        return found;
    }
}
