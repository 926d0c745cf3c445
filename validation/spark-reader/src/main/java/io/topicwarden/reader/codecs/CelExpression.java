package io.topicwarden.reader.codecs;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.NullValue;
import dev.cel.common.CelOptions;
import dev.cel.common.CelValidationException;
import dev.cel.common.types.SimpleType;
import dev.cel.compiler.CelCompiler;
import dev.cel.compiler.CelCompilerFactory;
import dev.cel.parser.CelStandardMacro;
import dev.cel.runtime.CelEvaluationException;
import dev.cel.runtime.CelRuntime;
import dev.cel.runtime.CelRuntimeFactory;
import dev.cel.runtime.CelUnknownSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A CEL expression over {@code key}, {@code value}, {@code headers} and {@code timestamp}. */
final class CelExpression {
  private static final CelOptions OPTIONS =
      CelOptions.current()
          .enableHeterogeneousNumericComparisons(true)
          .enableTimestampEpoch(true)
          .enableQuotedIdentifierSyntax(true)
          .build();
  private static final CelCompiler COMPILER =
      CelCompilerFactory.standardCelCompilerBuilder()
          .setOptions(OPTIONS)
          .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
          .addVar("key", SimpleType.DYN)
          .addVar("value", SimpleType.DYN)
          .addVar("headers", SimpleType.DYN)
          .addVar("timestamp", SimpleType.TIMESTAMP)
          .build();
  private static final CelRuntime RUNTIME = runtime(List.of());

  private final String rule;
  private final CelRuntime.Program program;
  private final RecordFault compileFault;

  private CelExpression(String rule, CelRuntime.Program program, RecordFault compileFault) {
    this.rule = rule;
    this.program = program;
    this.compileFault = compileFault;
  }

  private static CelRuntime runtime(Collection<FileDescriptor> schemas) {
    WellKnownTypes.link();
    return CelRuntimeFactory.standardCelRuntimeBuilder()
        .setOptions(OPTIONS)
        .addFileTypes(schemas)
        .build();
  }

  /**
   * Compiles an expression. If that fails, every record is undecidable by this expression.
   *
   * @param schemas the message types that the expression may find in a {@code Any}
   */
  static CelExpression compile(String id, String text, Collection<FileDescriptor> schemas) {
    String rule = "expression:" + id;
    try {
      CelRuntime runtime = schemas.isEmpty() ? RUNTIME : runtime(schemas);
      return new CelExpression(rule, runtime.createProgram(COMPILER.compile(text).getAst()), null);
    } catch (CelValidationException
        | CelEvaluationException
        | RuntimeException
        | StackOverflowError error) {
      String reason = "the expression cannot be used: " + RecordFault.describe(error);
      return new CelExpression(rule, null, RecordFault.undecidable(reason));
    }
  }

  /** Converts null and bytes, at any depth, to the types that CEL has for them. */
  static Object celValue(Object plain) {
    if (plain == null) {
      return NullValue.NULL_VALUE;
    }
    if (plain instanceof byte[] bytes) {
      return ByteString.copyFrom(bytes);
    }
    if (plain instanceof Map<?, ?> map) {
      Map<Object, Object> converted = new HashMap<>();
      map.forEach((name, value) -> converted.put(name, celValue(value)));
      return converted;
    }
    return plain instanceof List<?> list
        ? list.stream().map(CelExpression::celValue).toList()
        : plain;
  }

  /** Returns the kind of an error. Its message may have payload. */
  private static String reason(CelEvaluationException error) {
    String message = String.valueOf(error.getMessage());
    return message.contains("is not declared in message")
        ? "the message type has no such field"
        : error.getErrorCode().name();
  }

  /** Counts the record as undecidable because one of its parts is. */
  void addUndecidable(RecordFault cause, long offset, FaultCounts faults) {
    faults.add(rule, "cannot be evaluated: " + cause.getMessage(), "", true, offset);
  }

  /**
   * Counts a fault if the expression is not true. An error is no fault of a tombstone, because most
   * expressions need a value.
   */
  void validate(Map<String, ?> variables, boolean tombstone, long offset, FaultCounts faults) {
    if (compileFault != null) {
      faults.add(rule, compileFault, offset);
      return;
    }
    try {
      Object result = program.eval(variables);
      if (result instanceof CelUnknownSet) {
        faults.add(rule, "cannot be evaluated: the record has no timestamp", "", true, offset);
      } else if (!(result instanceof Boolean)) {
        faults.add(rule, "is neither true nor false", "", true, offset);
      } else if (result.equals(false)) {
        faults.add(rule, "not true", tombstone ? "of a tombstone" : "", false, offset);
      }
    } catch (CelEvaluationException error) {
      if (!tombstone) {
        faults.add(rule, "cannot be evaluated: " + reason(error), "", true, offset);
      }
    } catch (StackOverflowError error) {
      faults.add(rule, "cannot be evaluated: nested too deeply for the audit", "", true, offset);
    } catch (RuntimeException error) {
      String kind = error.getClass().getSimpleName();
      faults.add(rule, "cannot be evaluated: " + kind, "", true, offset);
    }
  }
}
