package tableformats.spark;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.InflaterInputStream;

import org.apache.spark.api.java.JavaSparkContext;

/**
 * The deleted rows of a plan's files, in pieces that Spark brings to executors when they first come to a file of theirs.
 *
 * Pieces are broadcasts: the driver may put them on its disk, and Spark forgets them once the plan is gone.
 */
public class DeletedRows {
    private final List pieces = new ArrayList();
    private ByteArrayOutputStream next = new ByteArrayOutputStream();

    /**
     * @param deflated the next bytes of the next piece, which {@code positions.py} describes, as a zlib stream, because
     *     bytes come through Py4J as text
     * @param isLast whether they end the piece
     */
    public void add(JavaSparkContext context, byte[] deflated, boolean isLast) throws IOException {
        new InflaterInputStream(new ByteArrayInputStream(deflated)).transferTo(next);
        if (isLast) {
            pieces.add(context.broadcast(next.toByteArray()));
            next = new ByteArrayOutputStream();
        }
    }

    /** A list of {@code Broadcast}, made of Spark's and Java's own classes alone: it goes to executors. */
    public List pieces() {
        return pieces;
    }

    /** What plans show. */
    public String toString() {
        return "deleted rows";
    }
}
