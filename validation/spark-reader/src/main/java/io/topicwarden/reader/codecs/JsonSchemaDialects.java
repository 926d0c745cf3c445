package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.ExecutionContext;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaContext;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import com.networknt.schema.dialect.DefaultDialectRegistry;
import com.networknt.schema.dialect.Dialect;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.keyword.AbstractKeyword;
import com.networknt.schema.keyword.AnnotationKeyword;
import com.networknt.schema.keyword.BaseKeywordValidator;
import com.networknt.schema.keyword.Keyword;
import com.networknt.schema.keyword.KeywordValidator;
import com.networknt.schema.keyword.NonValidationKeyword;
import com.networknt.schema.path.NodePath;
import com.networknt.schema.vocabulary.Vocabularies;
import com.networknt.schema.vocabulary.Vocabulary;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The drafts of JSON Schema, with corrected keywords. For {@code const}, {@code enum}, {@code
 * uniqueItems} and {@code multipleOf} the library compares numbers as doubles, or finds {@code 1}
 * and {@code 1.0} different within arrays and objects. Before 2019-09 it applies {@code
 * minContains}, which those drafts do not have, and from 2019-09 on {@code dependencies}, which
 * they have no more. {@code contentEncoding} and {@code contentMediaType} are annotations, as
 * {@code format} is, and what no draft has is none of its keywords.
 */
final class JsonSchemaDialects {
  private static final List<Dialect> DIALECTS =
      Stream.of(
              Dialects.getDraft202012(),
              Dialects.getDraft201909(),
              Dialects.getDraft7(),
              Dialects.getDraft6(),
              Dialects.getDraft4())
          .map(JsonSchemaDialects::exact)
          .toList();

  private JsonSchemaDialects() {}

  /** Returns a registry. Its default is the draft of schemas that name none. */
  static SchemaRegistry registry(
      SpecificationVersion defaultDraft, Consumer<SchemaRegistry.Builder> customizer) {
    Dialect dialect =
        DIALECTS.stream()
            .filter(each -> each.getSpecificationVersion() == defaultDraft)
            .findFirst()
            .orElseThrow();
    return SchemaRegistry.withDefaultDialect(
        dialect,
        builder ->
            customizer.accept(builder.dialectRegistry(new DefaultDialectRegistry(DIALECTS))));
  }

  private interface Condition {
    boolean holds(JsonNode node);
  }

  private interface KeywordCompiler {
    Condition compile(JsonNode keyword);
  }

  private static Dialect exact(Dialect draft) {
    return Dialect.builder(draft)
        .keywords(keywords -> keywords.replaceAll((name, keyword) -> exact(draft, keyword)))
        .vocabularyRegistry(JsonSchemaDialects::exact)
        .build();
  }

  private static Keyword exact(Dialect draft, Keyword keyword) {
    boolean isOld =
        draft.getSpecificationVersion().getOrder() < SpecificationVersion.DRAFT_2019_09.getOrder();
    return switch (keyword.getValue()) {
      case "contains" -> isOld ? new ContainsWithoutMinimum() : keyword;
      case "dependencies" -> isOld ? keyword : new AnnotationKeyword(keyword.getValue());
      default -> exact(keyword);
    };
  }

  /** Returns a corrected vocabulary: from draft 2019-09 on, meta-schemas list vocabularies. */
  private static Vocabulary exact(String id) {
    Vocabulary library = Vocabularies.getVocabulary(id);
    return library == null
        ? null
        : new Vocabulary(
            id,
            library.getKeywords().stream().map(JsonSchemaDialects::exact).toArray(Keyword[]::new));
  }

  private static Keyword exact(Keyword keyword) {
    return switch (keyword.getValue()) {
      case "contentEncoding", "contentMediaType", "notAllowed", "propertyDependencies" ->
          new AnnotationKeyword(keyword.getValue());
      case "id" -> new NonValidationKeyword("id"); // that of draft 4 is read elsewhere
      case "const" -> new ExactKeyword("const", JsonSchemaDialects::constant);
      case "enum" -> new ExactKeyword("enum", JsonSchemaDialects::enumeration);
      case "uniqueItems" -> new ExactKeyword("uniqueItems", JsonSchemaDialects::uniqueItems);
      case "multipleOf" -> new ExactKeyword("multipleOf", JsonSchemaDialects::multipleOf);
      default -> keyword;
    };
  }

  private static Condition constant(JsonNode keyword) {
    Object expected = JsonEquality.comparable(keyword);
    return node -> JsonEquality.comparable(node).equals(expected);
  }

  private static Condition enumeration(JsonNode keyword) {
    Set<Object> expected = new HashSet<>();
    keyword.forEach(one -> expected.add(JsonEquality.comparable(one)));
    return node -> expected.contains(JsonEquality.comparable(node));
  }

  private static Condition uniqueItems(JsonNode keyword) {
    return node -> {
      Set<Object> seen = new HashSet<>();
      if (keyword.asBoolean() && node.isArray()) {
        for (JsonNode item : node) {
          if (!seen.add(JsonEquality.comparable(item))) {
            return false;
          }
        }
      }
      return true;
    };
  }

  private static Condition multipleOf(JsonNode keyword) {
    boolean usable = keyword.isNumber() && keyword.decimalValue().signum() != 0;
    return node ->
        !usable
            || !node.isNumber()
            || node.decimalValue().remainder(keyword.decimalValue()).signum() == 0;
  }

  /** A keyword whose result depends on the value alone. */
  private static final class ExactKeyword extends AbstractKeyword {
    private final KeywordCompiler compiler;

    ExactKeyword(String name, KeywordCompiler compiler) {
      super(name);
      this.compiler = compiler;
    }

    @Override
    public KeywordValidator newValidator(
        SchemaLocation location, JsonNode node, Schema parent, SchemaContext context) {
      Condition condition = compiler.compile(node);
      return new BaseKeywordValidator(this, node, location, parent, context) {
        @Override
        public void validate(
            ExecutionContext execution, JsonNode value, JsonNode root, NodePath path) {
          if (!condition.holds(value)) {
            execution.addError(
                error()
                    .instanceNode(value)
                    .instanceLocation(path)
                    .evaluationPath(execution.getEvaluationPath())
                    .build());
          }
        }
      };
    }
  }

  /** {@code contains} of drafts 6 and 7: at least one item is valid. */
  private static final class ContainsWithoutMinimum extends AbstractKeyword {
    ContainsWithoutMinimum() {
      super("contains");
    }

    @Override
    public KeywordValidator newValidator(
        SchemaLocation location, JsonNode node, Schema parent, SchemaContext context) {
      Schema items = context.newSchema(location, node, parent);
      return new BaseKeywordValidator(this, node, location, parent, context) {
        @Override
        public void validate(
            ExecutionContext execution, JsonNode value, JsonNode root, NodePath path) {
          if (value.isArray() && !anyValid(execution, value, root, path)) {
            execution.addError(
                error()
                    .instanceNode(value)
                    .instanceLocation(path)
                    .evaluationPath(execution.getEvaluationPath())
                    .build());
          }
        }

        private boolean anyValid(
            ExecutionContext execution, JsonNode value, JsonNode root, NodePath path) {
          List<com.networknt.schema.Error> before = execution.getErrors();
          boolean failFast = execution.isFailFast();
          try {
            execution.setFailFast(false);
            for (int i = 0; i < value.size(); i++) {
              execution.setErrors(new ArrayList<>());
              items.validate(execution, value.get(i), root, path.append(i));
              if (execution.getErrors().isEmpty()) {
                return true;
              }
            }
            return false;
          } finally {
            execution.setFailFast(failFast);
            execution.setErrors(before);
          }
        }

        @Override
        public void preloadSchema() {
          items.initializeValidators();
        }
      };
    }
  }
}
