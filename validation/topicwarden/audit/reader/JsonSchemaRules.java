package topicwarden;

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
import com.networknt.schema.keyword.BaseKeywordValidator;
import com.networknt.schema.keyword.Keyword;
import com.networknt.schema.keyword.KeywordValidator;
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
 * The drafts of JSON Schema, with the keywords of which the library takes numbers for doubles, or {@code 1} and {@code
 * 1.0} for different values within arrays and objects, or reads {@code minContains} before 2019-09.
 */
final class JsonSchemaRules {
  private static final List<Dialect> DIALECTS = Stream.of(
      Dialects.getDraft202012(), Dialects.getDraft201909(), Dialects.getDraft7(), Dialects.getDraft6(),
      Dialects.getDraft4()).map(JsonSchemaRules::exact).toList();

  private JsonSchemaRules() {}

  /** A schema that names no draft is of 2020-12. */
  static SchemaRegistry registry(Consumer<SchemaRegistry.Builder> customizer) {
    return SchemaRegistry.withDefaultDialect(
        DIALECTS.get(0), builder -> customizer.accept(builder.dialectRegistry(new DefaultDialectRegistry(DIALECTS))));
  }

  private interface Condition {
    boolean holds(JsonNode node);
  }

  private interface Compiled {
    Condition of(JsonNode keyword);
  }

  private static Dialect exact(Dialect draft) {
    return Dialect.builder(draft)
        .keywords(keywords -> keywords.replaceAll((name, keyword) -> exact(draft, keyword)))
        .vocabularyRegistry(JsonSchemaRules::exact)
        .build();
  }

  private static Keyword exact(Dialect draft, Keyword keyword) {
    boolean old = draft.getSpecificationVersion().getOrder() < SpecificationVersion.DRAFT_2019_09.getOrder();
    return old && keyword.getValue().equals("contains") ? new OldContains() : exact(keyword);
  }

  /** From draft 2019-09 on, a meta-schema names the vocabularies that its keywords come from. */
  private static Vocabulary exact(String id) {
    Vocabulary library = Vocabularies.getVocabulary(id);
    return library == null ? null
        : new Vocabulary(id, library.getKeywords().stream().map(JsonSchemaRules::exact).toArray(Keyword[]::new));
  }

  private static Keyword exact(Keyword keyword) {
    return switch (keyword.getValue()) {
      case "const" -> new Exact("const", JsonSchemaRules::constant);
      case "enum" -> new Exact("enum", JsonSchemaRules::enumeration);
      case "uniqueItems" -> new Exact("uniqueItems", JsonSchemaRules::uniqueItems);
      case "multipleOf" -> new Exact("multipleOf", JsonSchemaRules::multipleOf);
      default -> keyword;
    };
  }

  private static Condition constant(JsonNode keyword) {
    Object expected = ExactJson.of(keyword);
    return node -> ExactJson.of(node).equals(expected);
  }

  private static Condition enumeration(JsonNode keyword) {
    Set<Object> expected = new HashSet<>();
    keyword.forEach(one -> expected.add(ExactJson.of(one)));
    return node -> expected.contains(ExactJson.of(node));
  }

  private static Condition uniqueItems(JsonNode keyword) {
    return node -> {
      Set<Object> seen = new HashSet<>();
      if (keyword.asBoolean() && node.isArray()) {
        for (JsonNode item : node) {
          if (!seen.add(ExactJson.of(item))) {
            return false;
          }
        }
      }
      return true;
    };
  }

  private static Condition multipleOf(JsonNode keyword) {
    boolean usable = keyword.isNumber() && keyword.decimalValue().signum() != 0;
    return node -> !usable || !node.isNumber()
        || node.decimalValue().remainder(keyword.decimalValue()).signum() == 0;
  }

  /** A keyword about one value. */
  private static final class Exact extends AbstractKeyword {
    private final Compiled rule;

    Exact(String name, Compiled rule) {
      super(name);
      this.rule = rule;
    }

    @Override
    public KeywordValidator newValidator(
        SchemaLocation location, JsonNode node, Schema parent, SchemaContext context) {
      Condition condition = rule.of(node);
      return new BaseKeywordValidator(this, node, location, parent, context) {
        @Override
        public void validate(ExecutionContext execution, JsonNode value, JsonNode root, NodePath place) {
          if (!condition.holds(value)) {
            execution.addError(error().instanceNode(value).instanceLocation(place)
                .evaluationPath(execution.getEvaluationPath()).build());
          }
        }
      };
    }
  }

  /** {@code contains} of drafts 6 and 7, which have no {@code minContains}: at least one item is valid. */
  private static final class OldContains extends AbstractKeyword {
    OldContains() {
      super("contains");
    }

    @Override
    public KeywordValidator newValidator(
        SchemaLocation location, JsonNode node, Schema parent, SchemaContext context) {
      Schema items = context.newSchema(location, node, parent);
      return new BaseKeywordValidator(this, node, location, parent, context) {
        @Override
        public void validate(ExecutionContext execution, JsonNode value, JsonNode root, NodePath place) {
          if (value.isArray() && !anyValid(execution, value, root, place)) {
            execution.addError(error().instanceNode(value).instanceLocation(place)
                .evaluationPath(execution.getEvaluationPath()).build());
          }
        }

        private boolean anyValid(ExecutionContext execution, JsonNode value, JsonNode root, NodePath place) {
          List<com.networknt.schema.Error> before = execution.getErrors();
          boolean failFast = execution.isFailFast();
          try {
            execution.setFailFast(false);
            for (int at = 0; at < value.size(); at++) {
              execution.setErrors(new ArrayList<>());
              items.validate(execution, value.get(at), root, place.append(at));
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
