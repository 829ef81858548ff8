import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import {
  isPassingTrouble,
  isTimeoutError,
  MemCompatibilityError,
  MemDestroyedError,
  MemError,
  MemPreflightTimeout,
  MemRequestTimeout,
  RateLimitError,
  RememberJobError,
  RememberJobFailed,
  RememberJobNotFound,
  RememberJobTimeout,
} from "./errors.ts";

const REQUEST_TIMEOUT = new MemRequestTimeout({
  phase: "POST /api/recall",
  timeoutMs: 15_000,
});
const PREFLIGHT_TIMEOUT = new MemPreflightTimeout({
  phase: "preflight GET /version",
  timeoutMs: 5_000,
});

Deno.test("MemRequestTimeout and MemPreflightTimeout say what was waited for", () => {
  assertEquals(REQUEST_TIMEOUT.status, 504);
  assertEquals(REQUEST_TIMEOUT.phase, "POST /api/recall");
  assertEquals(REQUEST_TIMEOUT.timeoutMs, 15_000);
  assertEquals(
    REQUEST_TIMEOUT.message,
    "Cannot complete POST /api/recall: no answer within 15000 ms",
  );
  assertEquals(PREFLIGHT_TIMEOUT.phase, "preflight GET /version");
  assertEquals(PREFLIGHT_TIMEOUT.timeoutMs, 5_000);
  assertEquals(Object.hasOwn(REQUEST_TIMEOUT, "cause"), false);
});

Deno.test("isTimeoutError() is true for the two deadlines and nothing else", () => {
  assert(isTimeoutError(REQUEST_TIMEOUT));
  assert(isTimeoutError(PREFLIGHT_TIMEOUT));
  const others = [
    new MemError("x", { status: 504 }),
    new RememberJobTimeout("x", { jobId: "j" }),
    new DOMException("x", "TimeoutError"),
    undefined,
    null,
    "timeout",
  ];
  for (const other of others) assert(!isTimeoutError(other));
});

Deno.test("isPassingTrouble() is true when the same request may succeed later", () => {
  const passing = [
    new MemError("x", { status: 0 }),
    new MemError("x", { status: 500 }),
    new MemError("x", { status: 503 }),
    new RateLimitError("x"),
    REQUEST_TIMEOUT,
    PREFLIGHT_TIMEOUT,
  ];
  for (const error of passing) assert(isPassingTrouble(error), error.name);
  const lasting = [
    new MemError("x"),
    new MemError("x", { status: 400 }),
    new MemError("x", { status: 401 }),
    new MemCompatibilityError("x"),
    new MemDestroyedError(),
    new TypeError("x"),
    undefined,
  ];
  for (const error of lasting) assert(!isPassingTrouble(error), String(error));
});

Deno.test("every error is a MemError with a name, a status and what it is of", () => {
  const facts = {
    jobId: "j1",
    lastStatus: "running",
    lastBlobId: undefined,
    cause: "why",
  };
  for (
    const [error, name, status] of [
      [
        new RememberJobNotFound("x", facts),
        "RememberJobNotFound",
        404,
      ],
      [new RememberJobFailed("x", facts), "RememberJobFailed", 500],
      [new RememberJobTimeout("x", facts), "RememberJobTimeout", 504],
      [
        new RememberJobError("x", { ...facts, status: 502 }),
        "RememberJobError",
        502,
      ],
    ] as const
  ) {
    assertInstanceOf(error, MemError);
    assertInstanceOf(error, RememberJobError);
    assertEquals(error.name, name);
    assertEquals(error.status, status);
    assertEquals(error.jobId, "j1");
    assertEquals(error.lastStatus, "running");
    assertEquals(error.lastBlobId, undefined);
    assertEquals(error.cause, "why");
  }
  assertEquals(new MemCompatibilityError("x").status, 426);
  const limited = new RateLimitError("x", { retryAfterSeconds: 3 });
  assertEquals(limited.status, 429);
  assertEquals(limited.retryAfterSeconds, 3);
});
