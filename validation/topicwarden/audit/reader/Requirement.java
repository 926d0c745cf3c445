package topicwarden;

import com.google.protobuf.ByteString;
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
import java.util.Map;

/** What must be true of a record, in CEL over {@code key}, {@code value}, {@code headers} and {@code timestamp}. */
final class Requirement {
  /** CEL's null. */
  static final Object NULL = NullValue.NULL_VALUE;

  private static final CelOptions OPTIONS = CelOptions.current().enableHeterogeneousNumericComparisons(true).build();
  private static final CelCompiler COMPILER = CelCompilerFactory.standardCelCompilerBuilder()
      .setOptions(OPTIONS)
      .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
      .addVar("key", SimpleType.DYN)
      .addVar("value", SimpleType.DYN)
      .addVar("headers", SimpleType.DYN)
      .addVar("timestamp", SimpleType.TIMESTAMP)
      .build();
  private static final CelRuntime RUNTIME =
      CelRuntimeFactory.standardCelRuntimeBuilder().setOptions(OPTIONS).build();

  private final String rule;
  private final CelRuntime.Program program;

  Requirement(String id, String text) {
    rule = "expression:" + id;
    try {
      program = RUNTIME.createProgram(COMPILER.compile(text).getAst());
    } catch (CelValidationException | CelEvaluationException error) {
      throw new IllegalArgumentException("the expression " + id + " is not CEL: " + error.getMessage(), error);
    }
  }

  /** CEL's bytes. */
  static Object bytes(byte[] data) {
    return ByteString.copyFrom(data);
  }

  /** Notes where it is not true; of a tombstone, only where that can be told without a value. */
  void judge(Map<String, ?> record, boolean tombstone, long offset, Notes notes) {
    try {
      Object result = program.eval(record);
      if (!(result instanceof Boolean)) {
        notes.fault(rule, "gave neither true nor false", "", true, offset);
      } else if (result.equals(false)) {
        notes.fault(rule, "not true", tombstone ? "of a tombstone" : "", false, offset);
      }
    } catch (CelEvaluationException error) {
      if (!tombstone) {
        notes.fault(rule, "cannot be evaluated: " + error.getErrorCode(), "", true, offset);
      }
    }
  }
}
