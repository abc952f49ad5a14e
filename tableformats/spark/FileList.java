package tableformats.spark;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.InflaterInputStream;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * Paths and sizes of very many files, as Python sends them, some thousands a call.
 *
 * What Hadoop makes of a path (a URI, parsed and checked) is ten times its text, and made only of the files that a
 * query keeps.
 */
public class FileList {
    private static final int BLOCK = 128 << 20;

    private FileStatus[] made;
    private String[] paths;
    private long[] sizes;
    private int count;

    /** Place for {@code total} files. */
    public FileList open(int total) {
        made = new FileStatus[total];
        paths = new String[total];
        sizes = new long[total];
        return this;
    }

    /**
     * The next files.
     *
     * @param deflated of each of {@code more} files the length of its path (int32) and then its size (int64), both
     *     little-endian columns, then the decoded paths in UTF-8, one after the other; all of it as a zlib stream,
     *     because bytes come through Py4J as text
     */
    public void add(int more, byte[] deflated) throws IOException {
        byte[] bytes = new InflaterInputStream(new ByteArrayInputStream(deflated)).readAllBytes();
        ByteBuffer columns = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int start = 12 * more;
        for (int i = 0; i < more; i++) {
            int length = columns.getInt(4 * i);
            paths[count] = new String(bytes, start, length, StandardCharsets.UTF_8);
            sizes[count] = columns.getLong(4 * more + 8 * i);
            start += length;
            count++;
        }
    }

    public int size() {
        return paths.length;
    }

    /** In bytes. */
    public long length(int file) {
        return sizes[file];
    }

    /** The file as Spark plans it. Threads that ask at once get equal ones. */
    public FileStatus get(int file) {
        FileStatus found = made[file];
        if (found == null) {
            found = new FileStatus(sizes[file], false, 1, BLOCK, 0L, new Path(paths[file]));
            made[file] = found;
        }
        return found;
    }
}
