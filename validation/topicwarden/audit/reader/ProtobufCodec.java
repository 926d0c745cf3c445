package topicwarden;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.squareup.wire.schema.Location;
import com.squareup.wire.schema.ProtoFile;
import com.squareup.wire.schema.Schema;
import com.squareup.wire.schema.SchemaLoader;
import com.squareup.wire.schema.internal.SchemaEncoder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** One message type of Protocol Buffers. Unknown fields are no fault: newer producers add some. */
final class ProtobufCodec implements Codec {
  /** As many messages within one another as Protocol Buffers' own parsers read unless told otherwise. */
  static final int MOST_DEPTH = 100;

  private static final String MAIN = "topicwarden.main.proto";

  private final Descriptor type;

  ProtobufCodec(Descriptor type) {
    this.type = type;
  }

  /** The last file of a {@code FileDescriptorSet} in base 64, in which every file comes after those it imports. */
  static FileDescriptor compiled(String descriptors) {
    try {
      Map<String, FileDescriptor> built = new HashMap<>();
      FileDescriptor last = null;
      for (FileDescriptorProto file : FileDescriptorSet.parseFrom(Base64.getDecoder().decode(descriptors)).getFileList()) {
        FileDescriptor[] needed = file.getDependencyList().stream().map(built::get).toArray(FileDescriptor[]::new);
        last = FileDescriptor.buildFrom(file, needed);
        built.put(file.getName(), last);
      }
      return last;
    } catch (DescriptorValidationException | InvalidProtocolBufferException error) {
      throw new IllegalArgumentException(error.getMessage(), error);
    }
  }

  /** The file that {@code text} is; {@code imports} are texts by the names it imports them under. */
  static FileDescriptor parse(String text, Map<String, String> imports) {
    try {
      Path folder = Files.createTempDirectory("topicwarden-proto"); // Wire reads files alone
      try {
        write(folder, MAIN, text);
        for (Map.Entry<String, String> one : imports.entrySet()) {
          write(folder, one.getKey(), one.getValue());
        }
        SchemaLoader loader = new SchemaLoader(FileSystems.getDefault());
        loader.initRoots(List.of(Location.get(folder.toString())), List.of());
        return built(MAIN, loader.loadSchema(), new HashMap<>());
      } finally {
        try (Stream<Path> held = Files.walk(folder)) {
          held.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
      }
    } catch (DescriptorValidationException | InvalidProtocolBufferException error) {
      throw new IllegalArgumentException(error.getMessage(), error);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static void write(Path folder, String name, String text) throws IOException {
    Path file = folder.resolve(name).normalize();
    if (!file.startsWith(folder)) {
      throw new IllegalArgumentException("an import that leads elsewhere");
    }
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  /** The message called {@code name}, or the first of the file. */
  static Descriptor message(FileDescriptor file, String name) {
    if (name == null) {
      return file.getMessageTypes().get(0);
    }
    String own = name.startsWith(file.getPackage() + ".") ? name.substring(file.getPackage().length() + 1) : name;
    Descriptor found = null;
    for (String part : own.split("\\.")) {
      found = found == null ? file.findMessageTypeByName(part) : found.findNestedTypeByName(part);
      if (found == null) {
        throw new IllegalArgumentException("the schema has no message " + name);
      }
    }
    return found;
  }

  private static FileDescriptor built(String path, Schema schema, Map<String, FileDescriptor> done)
      throws DescriptorValidationException, InvalidProtocolBufferException {
    FileDescriptor held = done.get(path);
    if (held == null) {
      ProtoFile file = schema.protoFile(path);
      List<FileDescriptor> needed = new ArrayList<>();
      List<String> imports = new ArrayList<>(file.getImports());
      imports.addAll(file.getPublicImports());
      for (String name : imports) {
        needed.add(built(name, schema, done));
      }
      byte[] encoded = new SchemaEncoder(schema).encode(file).toByteArray();
      held = FileDescriptor.buildFrom(FileDescriptorProto.parseFrom(encoded), needed.toArray(FileDescriptor[]::new));
      done.put(path, held);
    }
    return held;
  }

  @Override
  public Object read(byte[] data) throws Malformed {
    return read(data, 0);
  }

  Object read(byte[] data, int from) throws Malformed {
    try {
      return parsed(data, from, MOST_DEPTH);
    } catch (IOException error) {
      if (isTooDeep(data, from)) {
        throw Malformed.unknown(
            "Protocol Buffers beyond the limits of the audit: more than " + MOST_DEPTH + " nested messages");
      }
      throw Malformed.because("not a " + type.getName() + " of Protocol Buffers", PlainCodec.shape(data));
    }
  }

  private Message parsed(byte[] data, int from, int depth) throws IOException {
    CodedInputStream input = CodedInputStream.newInstance(data, from, data.length - from);
    input.setRecursionLimit(depth);
    Message message = DynamicMessage.parseFrom(type, input);
    input.checkLastTagWas(0); // the end of a group that never began also ends a message
    return message;
  }

  private boolean isTooDeep(byte[] data, int from) {
    try {
      parsed(data, from, Integer.MAX_VALUE);
      return true;
    } catch (IOException error) {
      return false;
    } catch (StackOverflowError error) {
      return true;
    }
  }

  @Override
  public Object plain(Object read) throws Malformed {
    if (read instanceof Message message) {
      Map<String, Object> plain = new LinkedHashMap<>();
      for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
        boolean absent = !field.isRepeated() && field.hasPresence() && !message.hasField(field);
        if (field.isMapField()) {
          plain.put(field.getName(), entries((List<?>) message.getField(field)));
        } else {
          plain.put(field.getName(), absent ? null : plain(message.getField(field)));
        }
      }
      return plain;
    }
    if (read instanceof List<?> many) {
      List<Object> plain = new ArrayList<>(many.size());
      for (Object item : many) {
        plain.add(plain(item));
      }
      return plain;
    }
    if (read instanceof ByteString bytes) {
      return bytes.toByteArray();
    }
    return read instanceof Number || read instanceof Boolean ? Wide.of(read) : read.toString();
  }

  private Map<Object, Object> entries(List<?> held) throws Malformed {
    Map<Object, Object> plain = new LinkedHashMap<>();
    for (Object entry : held) {
      Message pair = (Message) entry;
      List<FieldDescriptor> fields = pair.getDescriptorForType().getFields();
      plain.put(plain(pair.getField(fields.get(0))), plain(pair.getField(fields.get(1))));
    }
    return plain;
  }
}
