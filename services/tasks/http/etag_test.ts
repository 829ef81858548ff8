import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  checkChange,
  checkRead,
  formatEtag,
  tagOfRecord,
  tagOfText,
} from "./etag.ts";

const ETAG = formatEtag(7);

Deno.test("checkChange() goes on only for the current version", () => {
  const kinds = (headers: readonly (string | undefined)[]): readonly string[] =>
    headers.map((ifMatch) => checkChange({ ifMatch }, ETAG).kind);
  assertEquals(
    kinds([undefined, "*", '"7"', '"6", "7"', ' "6" ,,"7" ', '"a,b", "7"']),
    ["ok", "ok", "ok", "ok", "ok", "ok"],
  );
  assertEquals(kinds(['"6"', 'W/"7"', '"77"', '"6", W/"7"']), [
    "failed",
    "failed",
    "failed",
    "failed",
  ]);
  assertEquals(kinds(["7", '"7', '"7" "8"', "", ",", 'w/"7"', '"7", x']), [
    "malformed",
    "malformed",
    "malformed",
    "malformed",
    "malformed",
    "malformed",
    "malformed",
  ]);
});

Deno.test("checkChange() refuses what If-None-Match has", () => {
  const kind = (ifNoneMatch: string): string =>
    checkChange({ ifNoneMatch }, ETAG).kind;
  assertEquals(kind("*"), "failed");
  assertEquals(kind('W/"7"'), "failed");
  assertEquals(kind('"8"'), "ok");
});

Deno.test("checkRead() tells when the client has it, weakly compared", () => {
  const kind = (ifNoneMatch: string): string =>
    checkRead({ ifNoneMatch }, ETAG).kind;
  assertEquals(
    ['"7"', 'W/"7"', '"1", W/"7"', "*", '"8"', "7"].map(kind),
    [
      "not_modified",
      "not_modified",
      "not_modified",
      "not_modified",
      "ok",
      "malformed",
    ],
  );
  assertEquals(
    checkRead({ ifMatch: '"8"', ifNoneMatch: '"7"' }, ETAG).kind,
    "failed",
  );
});

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
