package io.topicwarden.reader.personal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.topicwarden.reader.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class PersonalFieldsTest {
  private final PersonalFields fields = fields("{}");

  private static PersonalFields fields(String contract) {
    try {
      return new PersonalFields(Json.MAPPER.readTree(contract), 100);
    } catch (IOException error) {
      throw new AssertionError(error);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String json(PersonalFields fields) {
    ArrayNode json = Json.MAPPER.createArrayNode();
    fields.writeTo(json);
    return json.toString();
  }

  @Test
  void fieldsAreNamedByTheirPath() {
    String contact = "{\"mail\":\"ann@example.org\",\"surname\":\"A\"}";
    fields.add(0, bytes("{\"buyers\":[" + contact + "," + contact + "],\"ip\":\"10.0.0.1\"}"));
    fields.add(1, bytes("{\"ip\":[\"10.0.0.1\", 7], \"amount\": 4111111111111111}"));
    fields.add(100, bytes("{\"ip\":\"10.0.0.1\"}"));
    String found = json(fields);
    assertTrue(found.contains("[0,null,null,2],[1,null,null,1]"), found);
    assertTrue(found.contains("[0,\"buyers.mail\",\"e-mail address\",1]"), found);
    assertTrue(found.contains("[0,\"buyers.surname\",\"name of the field\",1]"), found);
    assertTrue(found.contains("[0,\"ip\",\"IP address\",2]"), found);
    assertFalse(found.contains("amount"), found);
  }

  @Test
  void declaredFieldsAreNotCounted() {
    PersonalFields declared = fields("{\"declared\":[\"mail\",\"address\"],\"names\":[\"ref\"]}");
    declared.add(
        0, bytes("{\"mail\":\"a@b.example\",\"address\":{\"phone\":\"+49301234567\"},\"ref\":1}"));
    assertEquals("[[0,null,null,1],[0,\"ref\",\"name of the field\",1]]", json(declared));
  }

  @Test
  void aNameThatLooksPersonalIsNotKept() {
    fields.add(0, bytes("{\"ann@example.org\":{\"email\":1}}"));
    assertEquals("[[0,null,null,1],[0,\"*.email\",\"name of the field\",1]]", json(fields));
  }

  @Test
  void theCostIsBounded() {
    StringBuilder many = new StringBuilder("{");
    for (int i = 0; i < 200; i++) {
      many.append("\"f").append(i).append("\":\"10.0.0.1\",");
    }
    fields.add(0, bytes(many + "\"z\":1}"));
    fields.add(PersonalFields.SAMPLE, bytes("{\"email\":1}"));
    fields.add(1, new byte[1 << 17]);
    fields.add(2, null);
    String found = json(fields);
    assertFalse(found.contains("email"), found);
    assertEquals(PersonalFields.MAX_FIELDS, found.split("IP address", -1).length - 1);
  }

  @Test
  void whatIsNotJsonIsLeftOut() {
    fields.add(0, bytes("{\"email\":"));
    fields.add(1, bytes("[".repeat(5_000)));
    fields.add(2, new byte[0]);
    assertTrue(fields.isEmpty() || json(fields).equals("[[0,null,null,1]]"));
  }

  @Test
  void theWireFormatIsSkipped() {
    fields.add(0, bytes("\0\0\0\0\7{\"email\":1}"));
    assertTrue(json(fields).contains("email"));
  }
}
