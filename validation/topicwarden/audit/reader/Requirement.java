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
  private final Malformed unusable;

  private Requirement(String rule, CelRuntime.Program program, Malformed unusable) {
    this.rule = rule;
    this.program = program;
    this.unusable = unusable;
  }

  /** An expression that is not CEL leaves every record undecided. */
  static Requirement of(String id, String text) {
    String rule = "expression:" + id;
    try {
      return new Requirement(rule, RUNTIME.createProgram(COMPILER.compile(text).getAst()), null);
    } catch (CelValidationException | CelEvaluationException | RuntimeException | StackOverflowError error) {
      Malformed unusable = Malformed.unknown("the expression cannot be used: " + Malformed.cause(error));
      return new Requirement(rule, null, unusable);
    }
  }

  /** CEL's bytes. */
  static Object bytes(byte[] data) {
    return ByteString.copyFrom(data);
  }

  /** Notes that it cannot be told whether this is true of the record, because of {@code why}. */
  void undecided(Malformed why, long offset, Notes notes) {
    notes.fault(rule, "cannot be evaluated: " + why.getMessage(), "", true, offset);
  }

  /** Notes if this is not true; of a tombstone, only if that can be told without a value. */
  void judge(Map<String, ?> record, boolean tombstone, long offset, Notes notes) {
    if (unusable != null) {
      notes.fault(rule, unusable, offset);
      return;
    }
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
    } catch (StackOverflowError error) {
      notes.fault(rule, "cannot be evaluated: nested too deeply for the audit", "", true, offset);
    } catch (RuntimeException error) {
      notes.fault(rule, "cannot be evaluated: " + error.getClass().getSimpleName(), "", true, offset);
    }
  }
}
