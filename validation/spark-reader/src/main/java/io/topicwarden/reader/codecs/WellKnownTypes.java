package io.topicwarden.reader.codecs;

import com.google.protobuf.Any;
import com.google.protobuf.BoolValue;
import com.google.protobuf.BytesValue;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DoubleValue;
import com.google.protobuf.Duration;
import com.google.protobuf.Empty;
import com.google.protobuf.FieldMask;
import com.google.protobuf.FloatValue;
import com.google.protobuf.Int32Value;
import com.google.protobuf.Int64Value;
import com.google.protobuf.ListValue;
import com.google.protobuf.Message;
import com.google.protobuf.StringValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Timestamp;
import com.google.protobuf.UInt32Value;
import com.google.protobuf.UInt64Value;
import com.google.protobuf.Value;
import dev.cel.common.internal.DefaultInstanceMessageFactory;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The messages of {@code google/protobuf/} for which CEL has values of its own.
 *
 * <p>CEL's library finds their classes by the name of their Java package, which relocation changes
 * in the shaded jar.
 */
final class WellKnownTypes {
  private static final List<Message> MESSAGES =
      List.of(
          Any.getDefaultInstance(),
          BoolValue.getDefaultInstance(),
          BytesValue.getDefaultInstance(),
          DoubleValue.getDefaultInstance(),
          Duration.getDefaultInstance(),
          Empty.getDefaultInstance(),
          FieldMask.getDefaultInstance(),
          FloatValue.getDefaultInstance(),
          Int32Value.getDefaultInstance(),
          Int64Value.getDefaultInstance(),
          ListValue.getDefaultInstance(),
          StringValue.getDefaultInstance(),
          Struct.getDefaultInstance(),
          Timestamp.getDefaultInstance(),
          UInt32Value.getDefaultInstance(),
          UInt64Value.getDefaultInstance(),
          Value.getDefaultInstance());

  /** Their files, by import name. */
  static final Map<String, FileDescriptor> FILES =
      MESSAGES.stream()
          .map(message -> message.getDescriptorForType().getFile())
          .distinct()
          .collect(Collectors.toUnmodifiableMap(FileDescriptor::getName, Function.identity()));

  private WellKnownTypes() {}

  /**
   * Lets CEL's library find the classes of these messages. It derives a class from the Java package
   * that the descriptor has, once for each message name, and relocation changes that package. So it
   * is asked first for a copy of each descriptor with the package of the class.
   */
  static void link() {
    for (Message message : MESSAGES) {
      FileDescriptor file = message.getDescriptorForType().getFile();
      FileDescriptorProto.Builder copy = file.toProto().toBuilder();
      copy.getOptionsBuilder().setJavaPackage(message.getClass().getPackageName());
      try {
        FileDescriptor[] imports = file.getDependencies().toArray(FileDescriptor[]::new);
        Descriptor found =
            FileDescriptor.buildFrom(copy.build(), imports)
                .findMessageTypeByName(message.getDescriptorForType().getName());
        DefaultInstanceMessageFactory.getInstance().getPrototype(found);
      } catch (DescriptorValidationException error) {
        throw new IllegalStateException(error);
      }
    }
  }
}
