import { assertEquals } from "@std/assert";
import type { IncomingHttpHeaders } from "node:http";
import { readAnswer } from "./push_answer.ts";
import type { PushAnswer } from "./push_outcome.ts";

function answerOf(headers: IncomingHttpHeaders): PushAnswer {
  return readAnswer(
    { status: 200, headers, body: new Uint8Array(), isTruncated: false },
    { nowMs: 0, durationMs: 7 },
  );
}

Deno.test("readAnswer() keeps the headers that matter", () => {
  assertEquals(
    answerOf({
      "content-type": "text/plain",
      location: "/x",
      "set-cookie": ["a"],
      "x-other": "1",
    }),
    {
      kind: "answered",
      status: 200,
      headers: { "content-type": "text/plain", location: "/x" },
      bodyText: "",
      isTruncated: false,
      isFinal: false,
      durationMs: 7,
    },
  );
});

Deno.test("readAnswer() reads what the worker says of the task", () => {
  assertEquals(answerOf({ "retry-after": "2" }).retryAfterMs, 2_000);
  assertEquals(answerOf({ "retry-after": "soon" }).retryAfterMs, undefined);
  assertEquals(answerOf({ "task-retry": " No " }).isFinal, true);
  assertEquals(answerOf({ "task-retry": "yes" }).isFinal, false);
  assertEquals(answerOf({ "task-lease": "30" }).leaseMs, 30_000);
  assertEquals(answerOf({ "task-lease": "86400" }).leaseMs, 86_400_000);
  for (const lease of ["", "0", "86401", "-1", "1.5", "PT30S", "1, 2"]) {
    assertEquals(answerOf({ "task-lease": lease }).leaseMs, undefined, lease);
  }
});

Deno.test("readAnswer() leaves out a character that the cut divides", () => {
  const bytes = new TextEncoder().encode("aä😀");
  const text = (length: number, isTruncated: boolean): string =>
    readAnswer({
      status: 200,
      headers: {},
      body: bytes.subarray(0, length),
      isTruncated,
    }, { nowMs: 0, durationMs: 0 }).bodyText;
  assertEquals(text(7, false), "aä😀");
  assertEquals(text(6, true), "aä");
  assertEquals(text(2, true), "a");
  assertEquals(text(2, false), "a\ufffd");
});
