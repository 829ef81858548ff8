import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { encodeCursor, type Listing, readPageQuery } from "./paging.ts";

Deno.test("readPageQuery() gives back what encodeCursor() took", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 500; round++) {
    const position = { change: random.below(2 ** 50) };
    const cursor = encodeCursor("memories", position);
    assert(/^[A-Za-z0-9_-]+$/.test(cursor), cursor);
    assertEquals(decodeCursor("memories", cursor), position);
    assertEquals(decodeCursor("namespaces", cursor), undefined);
  }
});

Deno.test("readPageQuery() takes no other cursor", () => {
  const texts = [
    "null",
    "[]",
    "5",
    "{}",
    '{"listing":"memories"}',
    '{"listing":"memories","change":"5"}',
    '{"listing":"memories","change":-1}',
    '{"listing":"memories","change":1.5}',
    '{"listing":"memories","change":1e300}',
    '{"listing":"memories","change":null}',
  ];
  for (const text of texts) {
    const cursor = btoa(text).replaceAll("=", "");
    assertEquals(decodeCursor("memories", cursor), undefined, text);
  }
  for (const cursor of ["", "=", "a b", "ä", "x".repeat(257)]) {
    assertEquals(decodeCursor("memories", cursor), undefined, cursor);
  }
});

Deno.test("readPageQuery() has 100 items and the first page by default", () => {
  assertEquals(readPageQuery("memories", ""), {
    kind: "ok",
    page: { limit: 100, after: undefined, cursor: undefined },
  });
});

Deno.test("readPageQuery() gives no more than 500 items", () => {
  const limits = [["1", 1], ["500", 500], ["501", 500], ["007", 7], [
    "9".repeat(30),
    500,
  ]] as const;
  for (const [text, limit] of limits) {
    const read = readPageQuery("memories", `limit=${text}`);
    assertEquals(read.kind === "ok" && read.page.limit, limit, text);
  }
});

Deno.test("readPageQuery() reads the cursor of its listing", () => {
  const cursor = encodeCursor("memories", { change: 7 });
  const query = `updated_after=${cursor}&other=1`;
  const read = readPageQuery("memories", query);
  assertEquals(read.kind === "ok" && read.page, {
    limit: 100,
    after: { change: 7 },
    cursor,
  });
  assertEquals(readPageQuery("namespaces", query).kind, "refused");
});

/** The position that a page begins after; undefined when it is refused. */
function decodeCursor(listing: Listing, cursor: string) {
  const query = new URLSearchParams({ updated_after: cursor });
  const read = readPageQuery(listing, `${query}`);
  return read.kind === "ok" ? read.page.after : undefined;
}
