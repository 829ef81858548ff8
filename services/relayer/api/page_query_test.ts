import { assertEquals } from "@std/assert";
import { encodeCursor } from "./cursor.ts";
import { readPageQuery } from "./page_query.ts";

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
