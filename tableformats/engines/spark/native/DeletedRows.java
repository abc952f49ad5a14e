package tableformats.spark;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

import com.github.luben.zstd.Zstd;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * The deleted rows of a plan's files, as pieces that executors fetch when they first read a file of a piece.
 *
 * Each piece is a broadcast: the driver may spill it to disk, and Spark removes it once the plan is garbage.
 */
public class DeletedRows {
    private final List pieces = new ArrayList();
    private ByteArrayOutputStream next = new ByteArrayOutputStream();

    /**
     * @param compressed the next bytes of the current piece as a Zstandard frame; {@code positions.py} has the layout
     * @param isLast whether the piece ends with these bytes
     */
    public void add(JavaSparkContext context, byte[] compressed, boolean isLast) {
        int size = (int) Zstd.decompressedSize(compressed);
        next.write(Zstd.decompress(compressed, size), 0, size);
        if (isLast) {
            pieces.add(context.broadcast(next.toByteArray()));
            next = new ByteArrayOutputStream();
        }
    }

    /** A list of {@code Broadcast}. It is sent to executors, so it holds classes of Java and Spark only. */
    public List pieces() {
        return pieces;
    }

    /** The text in query plans. */
    public String toString() {
        return "deleted rows";
    }
}
