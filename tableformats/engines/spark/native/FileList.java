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
 * Paths and sizes of many files, in pieces of some thousands, stored as Python sends them.
 *
 * A Hadoop path (a String and a parsed URI) takes ten times the bytes of its text. So it is made only for the files
 * that a query reads.
 */
public class FileList {
    private static final int BLOCK = 128 << 20;
    private static final int MANY = 1000;
    private static final String PLAIN_SIGNS = "/-_.=@+,~";

    private FileStatus[] made;
    private ByteBuffer[] pieces;
    private int each;
    private int added;

    /** Prepares for {@code total} files; each piece but the last has {@code each} files. */
    public FileList open(int total, int each) {
        this.each = each;
        made = new FileStatus[total];
        pieces = new ByteBuffer[(total + each - 1) / each];
        return this;
    }

    /**
     * Adds the next piece.
     *
     * @param size the number of bytes after decompression
     * @param compressed Zstandard frames of three little-endian columns: the files' sizes (int64); the offsets of their
     *     paths, and the end of the last one (int32); the decoded paths in UTF-8
     */
    public void add(int size, byte[] compressed) {
        byte[] bytes = Zstd.decompress(compressed, size);
        pieces[added] = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        added++;
    }

    public int size() {
        return made.length;
    }

    /** The size of a file in bytes. */
    public long length(int file) {
        return pieces[file / each].getLong(8 * (file % each));
    }

    /** The path of a file. Local paths get a scheme, or Hadoop would look for them in its default file system. */
    private String text(int file) {
        ByteBuffer piece = pieces[file / each];
        int count = Math.min(each, made.length - file / each * each);
        int at = 8 * count + 4 * (file % each);
        int start = piece.getInt(at);
        int paths = 12 * count + 4;
        String path = new String(piece.array(), paths + start, piece.getInt(at + 4) - start, StandardCharsets.UTF_8);
        return path.charAt(0) == '/' ? "file:" + path : path;
    }

    /** The first {@code count} of the files {@code wanted}; many are made by several threads. */
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

    /** The status of a file. Concurrent calls may return different objects that are equal. */
    public FileStatus get(int file) {
        FileStatus found = made[file];
        if (found == null) {
            found = new FileStatus(length(file), false, 1, BLOCK, 0L, path(text(file)));
            made[file] = found;
        }
        return found;
    }

    /** The Hadoop path of a text. Most paths can skip Hadoop's own parsing, which uses regular expressions. */
    public static Path path(String text) {
        return isItsUri(text) ? new Path(URI.create(text)) : new Path(text);
    }

    /** Whether the text is already the URI that Hadoop would make: a scheme, an absolute path, nothing to escape. */
    private static boolean isItsUri(String text) {
        int colon = text.indexOf(':');
        int start = text.startsWith("//", colon + 1) ? colon + 3 : colon + 1;
        int root = text.indexOf('/', start);
        // A single letter before the colon is a Windows drive.
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
