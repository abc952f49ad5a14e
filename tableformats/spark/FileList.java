package tableformats.spark;

import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.IntFunction;

import com.github.luben.zstd.Zstd;
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
    private static final int MANY = 1000;
    private static final String PLAIN_SIGNS = "/-_.=@+,~";

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
     * @param compressed of each of {@code more} files the length of its path (int32) and then its size (int64), both
     *     little-endian columns, then the decoded paths in UTF-8, one after the other; all of it as a Zstandard frame
     */
    public void add(int more, byte[] compressed) {
        byte[] bytes = Zstd.decompress(compressed, (int) Zstd.decompressedSize(compressed));
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

    /** The first {@code count} of these files; threads share the making of many. */
    public FileStatus[] get(final int[] wanted, int count) {
        FileStatus[] found = new FileStatus[count];
        IntFunction file = new IntFunction() {
            public Object apply(int i) {
                return get(wanted[i]);
            }
        };
        if (count < MANY) {
            Arrays.setAll(found, file);
        } else {
            Arrays.parallelSetAll(found, file);
        }
        return found;
    }

    /** The file as Spark plans it. Threads that ask at once get equal ones. */
    public FileStatus get(int file) {
        FileStatus found = made[file];
        if (found == null) {
            found = new FileStatus(sizes[file], false, 1, BLOCK, 0L, path(paths[file]));
            made[file] = found;
        }
        return found;
    }

    /** Hadoop's path of that text; what Hadoop does to it by regular expressions and quoting most paths do not need. */
    public static Path path(String text) {
        return isItsUri(text) ? new Path(URI.create(text)) : new Path(text);
    }

    /** Whether it has a scheme and a path from the root, and in them nothing that is quoted or left out. */
    private static boolean isItsUri(String text) {
        int colon = text.indexOf(':');
        int start = text.startsWith("//", colon + 1) ? colon + 3 : colon + 1;
        int root = text.indexOf('/', start);
        // A letter before the colon is a drive of Windows.
        if (colon < 2 || text.charAt(0) <= '9' || root < 0 || start == colon + 1 && root > start
                || text.indexOf("//", start) >= 0 || text.endsWith("/")) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            char at = text.charAt(i);
            boolean isLetter = at >= 'a' && at <= 'z' || at >= 'A' && at <= 'Z' || at >= '0' && at <= '9';
            if (i != colon && !isLetter && (i < colon || PLAIN_SIGNS.indexOf(at) < 0)) {
                return false;
            }
        }
        return true;
    }
}
