package io.topicwarden.reader.codecs;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DescriptorProtos;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.squareup.wire.schema.Location;
import com.squareup.wire.schema.ProtoFile;
import com.squareup.wire.schema.Schema;
import com.squareup.wire.schema.SchemaLoader;
import com.squareup.wire.schema.internal.SchemaEncoder;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A Protocol Buffers message type. Unknown fields are allowed, because newer producers add them.
 */
final class ProtobufCodec implements Codec {
  /** The default recursion limit of Protocol Buffers' own parsers. */
  static final int MAX_DEPTH = 100;

  private static final String MISSING_FIELDS = "Message missing required fields: ";
  private static final String MAIN_FILE = "topicwarden.main.proto";

  /** No {@code .proto} file has only these characters. */
  private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/\\s]+=*\\s*");

  private final Descriptor type;

  ProtobufCodec(Descriptor type) {
    this.type = type;
  }

  /**
   * Builds the last file of a base64 {@code FileDescriptorSet}, in which imported files come first.
   */
  static FileDescriptor fromDescriptorSet(String base64) {
    try {
      Map<String, FileDescriptor> files = new HashMap<>(WellKnownTypes.FILES);
      FileDescriptor last = null;
      for (FileDescriptorProto file :
          FileDescriptorSet.parseFrom(Base64.getDecoder().decode(base64)).getFileList()) {
        FileDescriptor[] imports =
            file.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
        last = files.get(file.getName());
        if (last == null) {
          last = FileDescriptor.buildFrom(file, imports);
          files.put(file.getName(), last);
        }
      }
      return last;
    } catch (DescriptorValidationException | InvalidProtocolBufferException error) {
      throw new IllegalArgumentException(error.getMessage(), error);
    }
  }

  /**
   * Compiles a {@code .proto} file, or builds one from a base64 {@code FileDescriptorProto}, as
   * some clients register it and some registries return it.
   *
   * @param imports the texts of all imported files, by import name
   */
  static FileDescriptor parse(String text, Map<String, String> imports) {
    return parse(MAIN_FILE, text, imports, new HashMap<>(WellKnownTypes.FILES));
  }

  private static FileDescriptor parse(
      String name, String text, Map<String, String> imports, Map<String, FileDescriptor> files) {
    FileDescriptorProto encoded = encoded(text);
    if (encoded == null) {
      return compile(name, text, imports, files);
    }
    files.putIfAbsent("google/protobuf/descriptor.proto", DescriptorProtos.getDescriptor());
    List<FileDescriptor> dependencies = new ArrayList<>();
    for (String imported : encoded.getDependencyList()) {
      if (!files.containsKey(imported)) {
        if (!imports.containsKey(imported)) {
          throw new IllegalArgumentException("unable to find " + imported);
        }
        parse(imported, imports.get(imported), imports, files);
      }
      dependencies.add(files.get(imported));
    }
    try {
      FileDescriptor built =
          FileDescriptor.buildFrom(
              encoded.toBuilder().setName(name).build(),
              dependencies.toArray(FileDescriptor[]::new));
      files.put(name, built);
      return built;
    } catch (DescriptorValidationException error) {
      throw new IllegalArgumentException(error.getMessage(), error);
    }
  }

  /** Returns the file that a text encodes; null if the text is a {@code .proto} file itself. */
  static FileDescriptorProto encoded(String text) {
    try {
      return BASE64.matcher(text).matches()
          ? FileDescriptorProto.parseFrom(Base64.getMimeDecoder().decode(text))
          : null;
    } catch (IllegalArgumentException | InvalidProtocolBufferException error) {
      return null;
    }
  }

  private static FileDescriptor compile(
      String name, String text, Map<String, String> imports, Map<String, FileDescriptor> files) {
    try {
      Path folder =
          Files.createTempDirectory("topicwarden-proto"); // Wire reads only from file systems
      try {
        for (Map.Entry<String, String> file : imports.entrySet()) {
          if (encoded(file.getValue()) == null) {
            write(folder, file.getKey(), file.getValue());
          }
        }
        write(folder, name, text);
        SchemaLoader loader = new SchemaLoader(FileSystems.getDefault());
        loader.initRoots(List.of(Location.get(folder.toString())), List.of());
        return build(name, loader.loadSchema(), files);
      } catch (IllegalStateException error) { // whose message has the folder, another one each time
        String message = String.valueOf(error.getMessage());
        throw new IllegalArgumentException(message.replace(folder + File.separator, ""), error);
      } finally {
        try (Stream<Path> paths = Files.walk(folder)) {
          paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
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
      throw new IllegalArgumentException("an import outside of the root folder");
    }
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  /** Returns the message type {@code name}, or the first one of the file if the name is null. */
  static Descriptor message(FileDescriptor file, String name) {
    if (name == null) {
      return file.getMessageTypes().get(0);
    }
    String localName =
        name.startsWith(file.getPackage() + ".")
            ? name.substring(file.getPackage().length() + 1)
            : name;
    Descriptor found = null;
    for (String part : localName.split("\\.", -1)) {
      found = found == null ? file.findMessageTypeByName(part) : found.findNestedTypeByName(part);
      if (found == null) {
        throw new IllegalArgumentException("the schema has no message " + name);
      }
    }
    return found;
  }

  private static FileDescriptor build(String path, Schema schema, Map<String, FileDescriptor> files)
      throws DescriptorValidationException, InvalidProtocolBufferException {
    FileDescriptor built = files.get(path);
    if (built == null) {
      ProtoFile file = schema.protoFile(path);
      List<FileDescriptor> imports = new ArrayList<>();
      for (List<String> names : List.of(file.getImports(), file.getPublicImports())) {
        for (String name : names) {
          imports.add(build(name, schema, files));
        }
      }
      byte[] encoded = new SchemaEncoder(schema).encode(file).toByteArray();
      built =
          FileDescriptor.buildFrom(
              FileDescriptorProto.parseFrom(encoded), imports.toArray(FileDescriptor[]::new));
      files.put(path, built);
    }
    return built;
  }

  @Override
  public Object decode(byte[] data) throws RecordFault {
    return decode(data, 0);
  }

  Object decode(byte[] data, int from) throws RecordFault {
    try {
      return parse(data, from, MAX_DEPTH);
    } catch (IOException error) {
      if (isTooDeep(data, from)) {
        throw RecordFault.undecidable(
            "Protocol Buffers beyond the limits of the audit: more than "
                + MAX_DEPTH
                + " nested messages");
      }
      throw RecordFault.invalid(
          "not a " + type.getName() + " of Protocol Buffers" + reason(error),
          PlainCodec.describe(data));
    }
  }

  /** Returns the part of a message of the library that names fields of the schema, or nothing. */
  private static String reason(IOException error) {
    String message = error.getMessage() == null ? "" : error.getMessage();
    if (message.startsWith(MISSING_FIELDS)) {
      return ": missing required "
          + message.substring(MISSING_FIELDS.length()).replaceAll("\\[\\d+]", "[*]");
    }
    return message.contains("UTF-8") ? ": a string that is not UTF-8" : "";
  }

  private Message parse(byte[] data, int from, int maxDepth) throws IOException {
    CodedInputStream input = CodedInputStream.newInstance(data, from, data.length - from);
    input.setRecursionLimit(maxDepth);
    Message message = DynamicMessage.parseFrom(type, input);
    input.checkLastTagWas(0); // an end-group tag without its start also ends a message
    return message;
  }

  private boolean isTooDeep(byte[] data, int from) {
    try {
      parse(data, from, Integer.MAX_VALUE);
      return true;
    } catch (IOException error) {
      return false;
    } catch (StackOverflowError error) {
      return true;
    }
  }

  @Override
  public FileDescriptor messageTypes() {
    return type.getFile();
  }

  /** Returns the message itself: CEL defines how expressions see it. */
  @Override
  public Object toCel(Object decoded) {
    return decoded;
  }
}
