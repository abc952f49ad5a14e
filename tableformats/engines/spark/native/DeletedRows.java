package tableformats.spark;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

import com.github.luben.zstd.Zstd;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * The deleted rows of a plan's files, in pieces that Spark brings to executors when they first come to a file of one.
 *
 * Pieces are broadcasts: the driver may put them on its disk, and Spark forgets them once the plan is gone.
 */
public class DeletedRows {
    private final List pieces = new ArrayList();
    private ByteArrayOutputStream next = new ByteArrayOutputStream();

    /**
     * @param compressed the next bytes of the next piece, which {@code positions.py} describes, as a Zstandard frame
     * @param isLast whether they end the piece
     */
    public void add(JavaSparkContext context, byte[] compressed, boolean isLast) {
        int size = (int) Zstd.decompressedSize(compressed);
        next.write(Zstd.decompress(compressed, size), 0, size);
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
