import type { IncomingHttpHeaders } from "node:http";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Failure, nextRetry } from "../domain/retry_policy.ts";
import { DEFAULT_RETRY_POLICY } from "../domain/retry_schema.ts";
import { judgeAnswer, type PushVerdict, readAnswer } from "./push_answer.ts";
import type { PushOutcome } from "./push_answer.ts";

/** An answer of a worker. */
type PushAnswer = Extract<PushOutcome, { readonly kind: "answered" }>;

function createAnswer(headers: IncomingHttpHeaders): PushAnswer {
  return readAnswer(
    { status: 200, headers, body: new Uint8Array(), isTruncated: false },
    { nowMs: 0, durationMs: 7 },
  );
}

Deno.test("readAnswer() keeps the headers that matter", () => {
  assertEquals(
    createAnswer({
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
      retryAfterMs: undefined,
      leaseMs: undefined,
      isFinal: false,
      durationMs: 7,
    },
  );
});

Deno.test("readAnswer() reads what the worker says of the task", () => {
  assertEquals(createAnswer({ "retry-after": "2" }).retryAfterMs, 2_000);
  assertEquals(createAnswer({ "retry-after": "soon" }).retryAfterMs, undefined);
  assertEquals(createAnswer({ "task-retry": " No " }).isFinal, true);
  assertEquals(createAnswer({ "task-retry": "yes" }).isFinal, false);
  assertEquals(createAnswer({ "task-lease": "30" }).leaseMs, 30_000);
  assertEquals(createAnswer({ "task-lease": "86400" }).leaseMs, 86_400_000);
  for (const lease of ["", "0", "86401", "-1", "1.5", "PT30S", "1, 2"]) {
    assertEquals(
      createAnswer({ "task-lease": lease }).leaseMs,
      undefined,
      lease,
    );
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

function answer(status: number, fields: Partial<PushAnswer> = {}): PushAnswer {
  return {
    kind: "answered",
    status,
    headers: {},
    bodyText: "",
    isTruncated: false,
    isFinal: false,
    durationMs: 5,
    ...fields,
  };
}

function judgeResult(
  bodyText: string,
  fields: Partial<PushAnswer> = {},
): unknown {
  const verdict = judgeAnswer(answer(200, { bodyText, ...fields }));
  assert(verdict.kind === "succeeded");
  return verdict.result;
}

function failed(
  outcome: PushOutcome,
): Extract<PushVerdict, { readonly kind: "failed" }> {
  const verdict = judgeAnswer(outcome);
  assert(verdict.kind === "failed", JSON.stringify(verdict));
  return verdict;
}

Deno.test("judgeAnswer() calls every 2xx a success", () => {
  for (const status of [200, 201, 202, 204, 206, 299]) {
    assertEquals(judgeAnswer(answer(status)), {
      kind: "succeeded",
      result: null,
      isTruncated: false,
    });
  }
});

Deno.test("judgeAnswer() accepts a JSON body as the result, and any other as text", () => {
  assertEquals(judgeResult('{"a":[1,"b"]}'), { a: [1, "b"] });
  assertEquals(judgeResult(" null "), null);
  assertEquals(judgeResult("12"), 12);
  assertEquals(judgeResult("done"), "done");
  assertEquals(judgeResult('{"a":'), '{"a":');
  const parsed = judgeResult('{"__proto__":{"a":1}}');
  assertEquals(JSON.stringify(parsed), '{"__proto__":{"a":1}}');
});

Deno.test("judgeAnswer() keeps as text what is too deep to be written again", () => {
  const nested = (depth: number): string =>
    "[".repeat(depth) + "]".repeat(depth);
  assertEquals(typeof judgeResult(nested(64)), "object");
  assertEquals(judgeResult(nested(65)), nested(65));
  assertEquals(typeof judgeResult(nested(32_768)), "string");
  const flat = JSON.stringify(["[".repeat(100), '"[['.repeat(50), [], {}]);
  assertEquals(judgeResult(flat), JSON.parse(flat));
});

Deno.test("judgeAnswer() keeps the beginning of a long body as text", () => {
  assertEquals(
    judgeAnswer(answer(200, { bodyText: "[1,2", isTruncated: true })),
    { kind: "succeeded", result: "[1,2", isTruncated: true },
  );
});

Deno.test("judgeAnswer() says why there is no result of a body that can't be read", () => {
  const unreadable = "it is not gzip";
  assertEquals(judgeAnswer(answer(200, { unreadable })), {
    kind: "succeeded",
    result: null,
    isTruncated: false,
    message: "Cannot read the result: it is not gzip",
  });
  assertEquals(
    failed(answer(500, { unreadable })).message,
    "Cannot run the task: the worker answered 500, and its body can't be " +
      "read: it is not gzip",
  );
});

Deno.test("judgeAnswer() calls 202 with a lease accepted", () => {
  const headers = { "task-lease": "60" };
  assertEquals(judgeAnswer(answer(202, { headers, leaseMs: 60_000 })), {
    kind: "accepted",
    leaseMs: 60_000,
  });
  const other = judgeAnswer(answer(200, { headers, leaseMs: 60_000 }));
  assertEquals(other.kind, "succeeded");
});

Deno.test("judgeAnswer() fails a 202 whose lease can't be read", () => {
  const headers = { "task-lease": "PT1M" };
  const { failure } = failed(answer(202, { headers }));
  assertEquals(failure, {
    code: "bad_lease",
    httpStatus: 202,
    isFinal: false,
  });
});

Deno.test("judgeAnswer() fails every other status", () => {
  for (const status of [300, 301, 304, 307, 308, 399]) {
    assertEquals(failed(answer(status)).failure, {
      code: "redirected",
      httpStatus: status,
      isFinal: false,
    });
  }
  for (const status of [101, 400, 404, 429, 500, 503, 599, 999]) {
    assertEquals(failed(answer(status)).failure, {
      code: "http_status",
      httpStatus: status,
      isFinal: false,
    });
  }
});

Deno.test("judgeAnswer() passes on delay, detail and finality", () => {
  const verdict = failed(
    answer(503, { bodyText: "busy", retryAfterMs: 9_000, isFinal: true }),
  );
  assertEquals(verdict, {
    kind: "failed",
    failure: { code: "http_status", httpStatus: 503, isFinal: true },
    message: "Cannot run the task: the worker answered 503",
    detail: "busy",
    retryAfterMs: 9_000,
  });
});

Deno.test("judgeAnswer() keeps a detail short and well-formed", () => {
  const { detail } = failed(
    answer(500, { bodyText: `a${"😀".repeat(1_000)}` }),
  );
  assertEquals(detail?.length, 1_024);
  assert(detail?.isWellFormed());
});

function isRetried(failure: Failure): boolean {
  return nextRetry(DEFAULT_RETRY_POLICY, {
    retries: 0,
    failedAtMs: 0,
    firstTriedAtMs: 0,
    failure,
    random: () => 0,
  }).kind === "retry";
}

Deno.test("judgeAnswer() leaves no other try after 410, 501 and task-retry: no", () => {
  assertEquals(isRetried(failed(answer(410)).failure), false);
  assertEquals(isRetried(failed(answer(501)).failure), false);
  assertEquals(
    isRetried(failed(answer(500, { isFinal: true })).failure),
    false,
  );
  assertEquals(isRetried(failed(answer(500)).failure), true);
  assertEquals(isRetried(failed(answer(302)).failure), true);
});

Deno.test("judgeAnswer() names what kept an answer from coming", () => {
  assertEquals(
    judgeAnswer({
      kind: "failed",
      code: "timed_out",
      message: "Cannot call: no answer",
      durationMs: 1,
    }),
    {
      kind: "failed",
      failure: { code: "timed_out" },
      message: "Cannot call: no answer",
    },
  );
  assertEquals(
    judgeAnswer({ kind: "refused", code: "bad_port", reason: "Cannot call" }),
    {
      kind: "failed",
      failure: { code: "target_refused" },
      message: "Cannot call",
    },
  );
});

Deno.test("judgeAnswer() lets a task wait as a 2xx with task-wait says", () => {
  const headers = { "task-wait": "yes" };
  const bodyText = '{"wait_for":{"event":"paid","timeout":"PT1H","state":[1]}}';
  assertEquals(judgeAnswer(answer(200, { headers, bodyText })), {
    kind: "waiting",
    wait: {
      asked: { kind: "event", event: "paid" },
      timeoutMs: 3_600_000,
      onTimeout: "resume",
      message: undefined,
      stateJson: "[1]",
    },
  });
  assertEquals(judgeAnswer(answer(200, { bodyText })).kind, "succeeded");
});

Deno.test("judgeAnswer() fails a task-wait whose body is no wait", () => {
  const headers = { "task-wait": "yes" };
  for (const bodyText of ["", "{", '{"wait_for":{}}', '{"event":"paid"}']) {
    const verdict = failed(answer(200, { headers, bodyText }));
    assertEquals(verdict.failure, {
      code: "bad_wait",
      httpStatus: 200,
      isFinal: false,
    });
    assertMatch(
      verdict.message,
      /^Cannot wait as the worker asks by task-wait: ./,
    );
  }
});
