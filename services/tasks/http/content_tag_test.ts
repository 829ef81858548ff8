import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { tagOfRecord, tagOfText } from "./content_tag.ts";

Deno.test("tagOfText() is a strong tag of the text", () => {
  assertMatch(tagOfText("a"), /^"[\w-]{22}"$/);
  assertEquals(tagOfText("a"), tagOfText("a"));
  assertNotEquals(tagOfText("a"), tagOfText("b"));
});

Deno.test("tagOfRecord() leaves members out, and the order of the others", () => {
  const tag = tagOfRecord({ id: "1", name: "a", seen: 1 }, ["seen"]);
  assertEquals(tagOfRecord({ seen: 2, name: "a", id: "1" }, ["seen"]), tag);
  assertEquals(
    tagOfRecord({ id: "1", name: "a", seen: 3, role: undefined }, ["seen"]),
    tag,
  );
  assertNotEquals(tagOfRecord({ id: "1", name: "b", seen: 1 }, ["seen"]), tag);
  assertNotEquals(
    tagOfRecord({ id: "1", name: "a" }, []),
    tagOfRecord({ id: "1" }, []),
  );
});
