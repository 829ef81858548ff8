import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { judgeHeaders, SERVICE_HEADERS } from "./push_exchange.ts";

function refusedName(headers: Readonly<Record<string, string>>): string {
  const verdict = judgeHeaders(headers);
  assert(verdict.kind === "refused", JSON.stringify(headers));
  assertStringIncludes(verdict.reason, JSON.stringify(verdict.name));
  return verdict.name;
}

Deno.test("judgeHeaders() lets ordinary headers pass", () => {
  const verdict = judgeHeaders({
    Authorization: "Bearer a.b\tc",
    "x-empty": "",
    "webhook-id": "tsk_1.0",
  });
  assertEquals(verdict.kind, "ok");
});

Deno.test("judgeHeaders() refuses what could end the header or frame the request", () => {
  const values = ["a\r\nx: y", "a\nb", "a\u0000", "ä", "\u2028", "\u007f"];
  for (const value of values) assertEquals(refusedName({ a: value }), "a");
  const names = [
    ...["", "a b", "a:", "a\r", "ä", "Host", "CONTENT-LENGTH", "expect"],
    ...["Transfer-Encoding", "connection", "upgrade", "te", "trailer"],
  ];
  for (const name of names) assertEquals(refusedName({ [name]: "1" }), name);
});

Deno.test("judgeHeaders() says nothing of a value", () => {
  const verdict = judgeHeaders({ authorization: "s3cret\n" });
  assert(verdict.kind === "refused");
  assert(!verdict.reason.includes("s3cret"));
});

Deno.test("judgeHeaders() refuses doubles, too many and too long ones", () => {
  assertEquals(refusedName({ a: "1", A: "2" }), "A");
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, ""]));
  assertEquals(judgeHeaders(many(64)).kind, "ok");
  assertEquals(refusedName(many(65)), "x64");
  assertEquals(judgeHeaders({ a: "b".repeat(65_535) }).kind, "ok");
  assertEquals(refusedName({ a: "b".repeat(65_536) }), "a");
});

Deno.test("judgeHeaders() refuses reserved names in any case", () => {
  for (const name of SERVICE_HEADERS) {
    const headers = { [name.toUpperCase()]: "1" };
    assertEquals(judgeHeaders(headers).kind, "ok");
    assertEquals(
      judgeHeaders(headers, { reserved: SERVICE_HEADERS }).kind,
      "refused",
    );
  }
});
