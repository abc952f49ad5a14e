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
 * Paths and sizes of very many files, as Python sends them, in pieces of some thousands.
 *
 * They stay as they came. What Java and Hadoop make of a path (a String; a URI, parsed and checked) is ten times its
 * bytes, and made only of the files that a query keeps.
 */
public class FileList {
    private static final int BLOCK = 128 << 20;
    private static final int MANY = 1000;
    private static final String PLAIN_SIGNS = "/-_.=@+,~";

    private FileStatus[] made;
    private ByteBuffer[] pieces;
    private int each;
    private int added;

    /** Place for {@code total} files, which come {@code each} to a piece, but the last. */
    public FileList open(int total, int each) {
        this.each = each;
        made = new FileStatus[total];
        pieces = new ByteBuffer[(total + each - 1) / each];
        return this;
    }

    /**
     * The next piece.
     *
     * @param size of the bytes when they are decompressed
     * @param compressed of each file its size (int64), then where its path begins in what follows and, of the last,
     *     ends (int32), both little-endian columns; then the decoded paths in UTF-8, one after the other; all of it as
     *     Zstandard frames
     */
    public void add(int size, byte[] compressed) {
        byte[] bytes = Zstd.decompress(compressed, size);
        pieces[added] = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        added++;
    }

    public int size() {
        return made.length;
    }

    /** In bytes. */
    public long length(int file) {
        return pieces[file / each].getLong(8 * (file % each));
    }

    /** Its path, a local one with its scheme, lest a cluster's default file system claims it. */
    private String text(int file) {
        ByteBuffer piece = pieces[file / each];
        int count = Math.min(each, made.length - file / each * each);
        int at = 8 * count + 4 * (file % each);
        int start = piece.getInt(at);
        int paths = 12 * count + 4;
        String path = new String(piece.array(), paths + start, piece.getInt(at + 4) - start, StandardCharsets.UTF_8);
        return path.charAt(0) == '/' ? "file:" + path : path;
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
            found = new FileStatus(length(file), false, 1, BLOCK, 0L, path(text(file)));
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
