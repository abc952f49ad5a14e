package tableformats.spark;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

import com.github.luben.zstd.Zstd;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Rows of an Arrow IPC stream as Spark's internal rows, in the driver and without a Spark job.
 *
 * Values are not converted, neither by the session's time zone nor between calendars. The stream arrives in pieces, so
 * that no call has to carry all of it.
 */
public class ArrowRows {
    private final ByteArrayOutputStream stream = new ByteArrayOutputStream();

    /** @param compressed the next bytes of the stream as a Zstandard frame, because Py4J sends bytes as text */
    public void add(byte[] compressed) {
        int size = (int) Zstd.decompressedSize(compressed);
        stream.write(Zstd.decompress(compressed, size), 0, size);
    }

    /** The rows, each as an UnsafeRow; {@code schema} has the Spark types of the stream's columns. */
    public List read(StructType schema) throws Exception {
        List rows = new ArrayList();
        UnsafeProjection projection = UnsafeProjection.create(schema);
        BufferAllocator allocator = ArrowUtils.rootAllocator().newChildAllocator("tableformats", 0L, Long.MAX_VALUE);
        ArrowStreamReader reader = null;
        try {
            reader = new ArrowStreamReader(new ByteArrayInputStream(stream.toByteArray()), allocator);
            VectorSchemaRoot root = reader.getVectorSchemaRoot();
            ColumnVector[] columns = new ColumnVector[root.getFieldVectors().size()];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = new ArrowColumnVector(root.getVector(i));
            }
            while (reader.loadNextBatch()) {
                Iterator batch = new ColumnarBatch(columns, root.getRowCount()).rowIterator();
                while (batch.hasNext()) {
                    rows.add(projection.apply((InternalRow) batch.next()).copy());
                }
            }
        } finally {
            if (reader != null) {
                reader.close();
            }
            allocator.close();
        }
        return rows;
    }
}
