/* Commits to and reads Iceberg tables in directories with the Java reference: one JSON command a line, one answer. */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.*;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DeleteWriteResult;
import org.apache.iceberg.io.FanoutDataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

public class IcebergActor {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HadoopTables TABLES = new HadoopTables(new Configuration());

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        answer.set("result", run(JSON.readTree(line)));
      } catch (Throwable error) {
        answer.put("error", error.getClass().getSimpleName() + ": " + error.getMessage());
        StackTraceElement[] trace = error.getStackTrace();
        answer.put("at", trace.length > 0 ? trace[0].toString() : "");
      }
      System.out.println(answer);
      System.out.flush();
    }
  }

  private static JsonNode run(JsonNode command) throws Exception {
    String op = command.get("op").asText();
    Table table = TABLES.load(command.get("table").asText());
    String branch = command.path("branch").asText("main");
    switch (op) {
      case "append": {
        AppendFiles append = command.path("fast").asBoolean() ? table.newFastAppend() : table.newAppend();
        write(table, command.get("rows")).forEach(append::appendFile);
        append.toBranch(branch).commit();
        return null;
      }
      case "delete_files": {
        table.newDelete().deleteFromRowFilter(in(command)).toBranch(branch).commit();
        return null;
      }
      case "delete_rows":
        deleteRows(table, ids(command), command.get("kind").asText(), branch);
        return null;
      case "replace_partitions": {
        ReplacePartitions replace = table.newReplacePartitions();
        write(table, command.get("rows")).forEach(replace::addFile);
        replace.toBranch(branch).commit();
        return null;
      }
      case "compact":
        compact(table, branch);
        return null;
      case "rewrite_manifests":
        table.rewriteManifests().clusterBy(file -> file.partition().toString()).commit();
        return null;
      case "expire":
        table.expireSnapshots().retainLast(command.get("keep").asInt()).expireOlderThan(System.currentTimeMillis()).commit();
        return null;
      case "properties": {
        UpdateProperties update = table.updateProperties();
        command.get("set").fields().forEachRemaining(e -> update.set(e.getKey(), e.getValue().asText()));
        update.commit();
        return null;
      }
      case "add_column":
        table.updateSchema().addColumn(command.get("name").asText(), Types.IntegerType.get()).commit();
        return null;
      case "rename_column":
        table.updateSchema().renameColumn(command.get("name").asText(), command.get("to").asText()).commit();
        return null;
      case "add_field":
        table.updateSpec().addField(Expressions.bucket(command.get("source").asText(), command.get("n").asInt())).commit();
        return null;
      case "remove_field":
        table.updateSpec().removeField(command.get("name").asText()).commit();
        return null;
      case "tag":
        table.manageSnapshots().createTag(command.get("name").asText(), table.currentSnapshot().snapshotId()).commit();
        return null;
      case "branch":
        table.manageSnapshots().createBranch(branch, table.currentSnapshot().snapshotId()).commit();
        return null;
      case "rows":
        return rows(table, branch);
      case "metadata":
        return metadata(table, command.get("name").asText());
      case "location": {
        ArrayNode found = JSON.createArrayNode();
        for (JsonNode name : command.get("names")) {
          found.add(table.locationProvider().newDataLocation(name.asText()));
        }
        return found;
      }
      case "spec": {
        ArrayNode found = JSON.createArrayNode();
        table.spec().fields().forEach(field -> found.add(field.name()));
        return found;
      }
      default:
        throw new IllegalArgumentException(op);
    }
  }

  // ---- rows ------------------------------------------------------------------------------------------------------

  private static Set<Long> ids(JsonNode command) {
    Set<Long> found = new HashSet<>();
    command.get("ids").forEach(id -> found.add(id.asLong()));
    return found;
  }

  private static Expression in(JsonNode command) {
    return Expressions.in("id", ids(command).toArray());
  }

  private static GenericFileWriterFactory.Builder factory(Table table) {
    return new GenericFileWriterFactory.Builder(table).dataFileFormat(FileFormat.PARQUET).dataSchema(table.schema())
        .deleteFileFormat(FileFormat.PARQUET);
  }

  private static OutputFileFactory outputs(Table table) {
    return OutputFileFactory.builderFor(table, 1, System.nanoTime()).format(FileFormat.PARQUET).build();
  }

  private static List<DataFile> write(Table table, JsonNode rows) throws Exception {
    List<Record> records = new ArrayList<>();
    for (JsonNode row : rows) {
      records.add(record(table.schema(), row));
    }
    return write(table, records);
  }

  private static List<DataFile> write(Table table, Iterable<Record> records) throws Exception {
    InternalRecordWrapper wrapper = new InternalRecordWrapper(table.schema().asStruct());
    PartitionKey key = new PartitionKey(table.spec(), table.schema());
    FanoutDataWriter<Record> writer =
        new FanoutDataWriter<>(factory(table).build(), outputs(table), table.io(), 128L << 20);
    try (writer) {
      for (Record record : records) {
        key.partition(wrapper.wrap(record));
        writer.write(record, table.spec(), key.copy());
      }
    }
    return writer.result().dataFiles();
  }

  private static Record record(Schema schema, JsonNode row) {
    Record record = GenericRecord.create(schema);
    for (Types.NestedField field : schema.columns()) {
      JsonNode value = row.get(field.name());
      record.setField(field.name(), value == null || value.isNull() ? null : parse(field.type(), value));
    }
    return record;
  }

  private static Object parse(Type type, JsonNode value) {
    switch (type.typeId()) {
      case LONG: return value.asLong();
      case INTEGER: return value.asInt();
      case DOUBLE: return value.isTextual() ? Double.valueOf(value.asText()) : value.asDouble();
      case STRING: return value.asText();
      case BOOLEAN: return value.asBoolean();
      case DATE: return LocalDate.ofEpochDay(value.asLong());
      case DECIMAL: return new BigDecimal(value.asText());
      case TIMESTAMP: return Instant.EPOCH.plus(value.asLong(), ChronoUnit.MICROS).atOffset(ZoneOffset.UTC);
      default: throw new IllegalArgumentException(type.toString());
    }
  }

  private static ArrayNode rows(Table table, String branch) throws Exception {
    ArrayNode found = JSON.createArrayNode();
    Snapshot snapshot = table.snapshot(branch);
    if (snapshot == null) {
      return found;
    }
    try (CloseableIterable<Record> records =
        branch.equals("main")
            ? IcebergGenerics.read(table).build()
            : IcebergGenerics.read(table).useSnapshot(snapshot.snapshotId()).build()) {
      for (Record record : records) {
        ObjectNode row = JSON.createObjectNode();
        for (Types.NestedField field : table.schema().columns()) {
          row.set(field.name(), plain(field.type(), record.getField(field.name())));
        }
        found.add(row);
      }
    }
    return found;
  }

  // ---- row-level changes -----------------------------------------------------------------------------------------

  private static void deleteRows(Table table, Set<Long> ids, String kind, String branch) throws Exception {
    Snapshot start = table.snapshot(branch);
    RowDelta delta = table.newRowDelta().validateFromSnapshot(start.snapshotId());
    if (kind.equals("equality")) {
      Schema idOnly = table.schema().select("id");
      GenericFileWriterFactory writers =
          factory(table).equalityFieldIds(new int[] {idOnly.findField("id").fieldId()}).equalityDeleteRowSchema(idOnly).build();
      // In an unpartitioned spec they apply to every file.
      PartitionSpec global = table.specs().values().stream().filter(PartitionSpec::isUnpartitioned).findFirst().get();
      EncryptedOutputFile out =
          OutputFileFactory.builderFor(table, 2, System.nanoTime()).format(FileFormat.PARQUET).defaultSpec(global).build().newOutputFile();
      var writer = writers.newEqualityDeleteWriter(out, global, null);
      try (writer) {
        for (Long id : ids) {
          Record record = GenericRecord.create(idOnly);
          record.setField("id", id);
          writer.write(record);
        }
      }
      delta.addDeletes(writer.toDeleteFile());
    } else {
      deletePositions(table, ids, kind, start, delta);
    }
    delta.toBranch(branch).commit();
  }

  private static void deletePositions(Table table, Set<Long> ids, String kind, Snapshot start, RowDelta delta) throws Exception {
    boolean isVector = kind.equals("vector");
    OutputFileFactory puffins = OutputFileFactory.builderFor(table, 3, System.nanoTime()).format(FileFormat.PUFFIN).build();
    Map<String, DeleteFile> earlier = new java.util.HashMap<>();
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().useSnapshot(start.snapshotId()).planFiles()) {
      planned.forEach(tasks::add);
    }
    for (FileScanTask task : tasks) {
      for (DeleteFile delete : task.deletes()) {
        if (delete.format() == FileFormat.PUFFIN) {
          earlier.put(task.file().location(), delete);
        }
      }
    }
    BaseDVFileWriter vectors =
        new BaseDVFileWriter(puffins, path -> earlier.containsKey(path) ? org.apache.iceberg.deletes.PositionDeleteIndex.class.cast(loaded(table, earlier.get(path))) : null);
    for (FileScanTask task : tasks) {
      List<Long> positions = new ArrayList<>();
      long position = 0;
      for (Record record : everyRow(table, task)) {
        if (ids.contains((Long) record.getField("id"))) {
          positions.add(position);
        }
        position++;
      }
      if (positions.isEmpty()) {
        continue;
      }
      if (isVector) {
        for (long at : positions) {
          vectors.delete(task.file().location(), at, task.spec(), task.file().partition());
        }
        continue;
      }
      OutputFileFactory outputs =
          OutputFileFactory.builderFor(table, 4, System.nanoTime()).format(FileFormat.PARQUET).defaultSpec(task.spec()).build();
      EncryptedOutputFile out =
          task.spec().isUnpartitioned() ? outputs.newOutputFile() : outputs.newOutputFile(task.spec(), task.file().partition());
      var writer = factory(table).build().newPositionDeleteWriter(out, task.spec(), task.file().partition());
      try (writer) {
        for (long at : positions) {
          writer.write(PositionDelete.<Record>create().set(task.file().location(), at));
        }
      }
      delta.addDeletes(writer.toDeleteFile());
    }
    vectors.close();
    if (isVector) {
      DeleteWriteResult result = vectors.result();
      result.deleteFiles().forEach(delta::addDeletes);
      result.rewrittenDeleteFiles().forEach(delta::removeDeletes);
    }
  }

  private static Object loaded(Table table, DeleteFile vector) {
    return new org.apache.iceberg.data.BaseDeleteLoader(file -> table.io().newInputFile(file.location()))
        .loadPositionDeletes(List.of(vector), vector.referencedDataFile());
  }

  /** The rows of a data file, deleted ones included, in their order. */
  private static List<Record> everyRow(Table table, FileScanTask task) throws Exception {
    Schema schema = table.schema().select("id");
    List<Record> found = new ArrayList<>();
    try (CloseableIterable<Record> records =
        org.apache.iceberg.parquet.Parquet.read(table.io().newInputFile(task.file().location()))
            .project(schema)
            .createReaderFunc(type -> org.apache.iceberg.data.parquet.GenericParquetReaders.buildReader(schema, type))
            .build()) {
      records.forEach(found::add);
    }
    return found;
  }

  private static void compact(Table table, String branch) throws Exception {
    Snapshot start = table.snapshot(branch);
    Set<DataFile> files = new HashSet<>();
    Set<DeleteFile> deletes = new HashSet<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().useSnapshot(start.snapshotId()).planFiles()) {
      for (FileScanTask task : planned) {
        files.add(task.file());
        deletes.addAll(task.deletes());
      }
    }
    if (files.isEmpty()) {
      return;
    }
    List<Record> records = new ArrayList<>();
    try (CloseableIterable<Record> found = IcebergGenerics.read(table).useSnapshot(start.snapshotId()).build()) {
      for (Record record : found) {
        records.add(record(table.schema(), asJson(record)));
      }
    }
    RewriteFiles rewrite = table.newRewrite().validateFromSnapshot(start.snapshotId());
    files.forEach(rewrite::deleteFile);
    deletes.forEach(rewrite::deleteFile);
    write(table, records).forEach(rewrite::addFile);
    rewrite.toBranch(branch).commit();
  }

  private static JsonNode asJson(Record record) {
    ObjectNode row = JSON.createObjectNode();
    record.struct().fields().forEach(field -> row.set(field.name(), plain(field.type(), record.getField(field.name()))));
    return row;
  }

  // ---- metadata tables -------------------------------------------------------------------------------------------

  private static ArrayNode metadata(Table table, String name) throws Exception {
    Table view = MetadataTableUtils.createMetadataTableInstance(table, MetadataTableType.from(name));
    ArrayNode found = JSON.createArrayNode();
    try (CloseableIterable<FileScanTask> tasks = view.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        try (CloseableIterable<StructLike> rows = task.asDataTask().rows()) {
          for (StructLike row : rows) {
            found.add(struct(view.schema().asStruct(), row));
          }
        }
      }
    }
    return found;
  }

  private static ObjectNode struct(Types.StructType type, StructLike row) {
    ObjectNode found = JSON.createObjectNode();
    for (int i = 0; i < type.fields().size(); i++) {
      Types.NestedField field = type.fields().get(i);
      found.set(field.name(), plain(field.type(), row.get(i, Object.class)));
    }
    return found;
  }

  private static JsonNode plain(Type type, Object value) {
    if (value == null) {
      return JSON.nullNode();
    }
    if (type.isStructType()) {
      return struct(type.asStructType(), (StructLike) value);
    }
    if (type.isListType()) {
      ArrayNode list = JSON.createArrayNode();
      for (Object item : (Collection<?>) value) {
        list.add(plain(type.asListType().elementType(), item));
      }
      return list;
    }
    if (type.isMapType()) {
      ObjectNode map = JSON.createObjectNode();
      ((Map<?, ?>) value).forEach((k, v) -> map.set(k.toString(), plain(type.asMapType().valueType(), v)));
      return map;
    }
    if (value instanceof ByteBuffer) {
      ByteBuffer bytes = ((ByteBuffer) value).duplicate();
      byte[] copy = new byte[bytes.remaining()];
      bytes.get(copy);
      return JSON.getNodeFactory().textNode(Base64.getEncoder().encodeToString(copy));
    }
    if (value instanceof OffsetDateTime) {
      return JSON.getNodeFactory().numberNode(ChronoUnit.MICROS.between(Instant.EPOCH, ((OffsetDateTime) value).toInstant()));
    }
    if (value instanceof LocalDate) {
      return JSON.getNodeFactory().numberNode(((LocalDate) value).toEpochDay());
    }
    if (value instanceof Double) {
      double number = (Double) value;
      return Double.isNaN(number) || Double.isInfinite(number)
          ? JSON.getNodeFactory().textNode(value.toString())
          : JSON.getNodeFactory().numberNode(number);
    }
    if (value instanceof Long) {
      return JSON.getNodeFactory().numberNode((Long) value);
    }
    if (value instanceof Integer) {
      return JSON.getNodeFactory().numberNode((Integer) value);
    }
    if (value instanceof Boolean) {
      return JSON.getNodeFactory().booleanNode((Boolean) value);
    }
    return JSON.getNodeFactory().textNode(value.toString());
  }
}
