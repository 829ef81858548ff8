import { assert, assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  badCursor,
  Cursors,
  formatFilter,
  nextPageLink,
  nextPageUrl,
} from "./page.ts";

const SCOPE = {
  tenantId: "ten_1",
  filter: formatFilter({ status: ["retry"] }),
};
const CURSORS = new Cursors(new Uint8Array(32).fill(7));
const POSITION = [1_700_000_000_000, "tsk_0é"];

Deno.test("open() reads what seal() wrote, and nothing of another list", () => {
  const cursor = CURSORS.seal(SCOPE, POSITION);
  assertEquals(CURSORS.open(SCOPE, cursor), { kind: "ok", position: POSITION });
  const bad = { kind: "bad_cursor" } as const;
  assertEquals(CURSORS.open({ ...SCOPE, tenantId: "ten_2" }, cursor), bad);
  const filter = formatFilter({ status: ["done"] });
  assertEquals(CURSORS.open({ ...SCOPE, filter }, cursor), bad);
  const others = new Cursors(new Uint8Array(32).fill(8));
  assertEquals(others.open(SCOPE, cursor), bad);
});

Deno.test("open() refuses a cursor that was changed, wherever", () => {
  const random = new SeededRandom(3);
  const cursor = CURSORS.seal(SCOPE, POSITION);
  const letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const bytes = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  for (let round = 0; round < 2_000; round++) {
    const at = random.below(cursor.length);
    const changed = cursor.slice(0, at) + random.pick([...letters]) +
      cursor.slice(at + 1);
    const same = bytes === atob(
      changed.replaceAll("-", "+").replaceAll("_", "/"),
    );
    if (same) continue;
    assertEquals(CURSORS.open(SCOPE, changed).kind, "bad_cursor", changed);
  }
  for (
    const text of [
      "",
      "a",
      cursor.slice(0, -4),
      `${cursor}AAAA`,
      " ",
      "=",
      "é",
      "x".repeat(5_000),
    ]
  ) assertEquals(CURSORS.open(SCOPE, text).kind, "bad_cursor", text);
});

Deno.test("formatFilter() is the same whatever the order of members", () => {
  assertEquals(
    formatFilter({ a: 1, b: { d: [2, 1], c: null } }),
    formatFilter({ b: { c: null, d: [2, 1] }, a: 1 }),
  );
  assert(formatFilter({ a: [1, 2] }) !== formatFilter({ a: [2, 1] }));
});

Deno.test("Cursors throws for a key that is too short", () => {
  assertThrows(() => new Cursors(new Uint8Array(15)), RangeError);
});

Deno.test("badCursor() names the parameter", () => {
  const [error] = badCursor().errors ?? [];
  assertEquals(
    error !== undefined && "parameter" in error && error.parameter,
    "cursor",
  );
});

Deno.test("nextPageUrl() replaces the cursor and keeps the rest as it was", () => {
  const url = "https://acme.example.com/api/v1/tasks";
  const cursor = "new_1";
  const next = (rawQuery: string): string =>
    nextPageUrl({ url, rawQuery, cursor });
  assertEquals(next(""), `${url}?cursor=new_1`);
  assertEquals(
    next("cursor=old&status=a%2Cb&&limit=5&cursor"),
    `${url}?status=a%2Cb&limit=5&cursor=new_1`,
  );
  assertEquals(
    nextPageLink({ url, rawQuery: 'key=a>b", <x\r\n', cursor }),
    `<${url}?key=a%3Eb%22,%20%3Cx%0D%0A&cursor=new_1>; rel="next"`,
  );
});
