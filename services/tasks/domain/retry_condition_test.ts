import { assertEquals } from "@std/assert";
import {
  type Failure,
  isRetryable,
  parseRetryCondition,
} from "./retry_condition.ts";

Deno.test("parseRetryCondition() reads statuses, classes and codes", () => {
  const cases: readonly [unknown, unknown][] = [
    [429, { kind: "status", status: 429 }],
    ["429", { kind: "status", status: 429 }],
    ["5xx", { kind: "status_class", hundreds: 5 }],
    ["4XX", { kind: "status_class", hundreds: 4 }],
    ["timed_out", { kind: "code", code: "timed_out" }],
    [99, undefined],
    [600, undefined],
    [429.5, undefined],
    ["999", undefined],
    ["6xx", undefined],
    ["", undefined],
    ["Timed Out", undefined],
    ["a".repeat(65), undefined],
    [null, undefined],
    [["5xx"], undefined],
  ];
  for (const [input, condition] of cases) {
    assertEquals(parseRetryCondition(input), condition, JSON.stringify(input));
  }
});

Deno.test("isRetryable() decides by finality, status and code", () => {
  const cases: readonly [
    Partial<Failure>,
    readonly unknown[] | undefined,
    boolean,
  ][] = [
    [{}, undefined, true],
    [{ httpStatus: 500 }, undefined, true],
    [{ httpStatus: 404 }, undefined, true],
    [{ httpStatus: 302 }, undefined, true],
    [{ httpStatus: 410 }, undefined, false],
    [{ httpStatus: 501 }, undefined, false],
    [{ isFinal: true }, undefined, false],
    [{ isFinal: true, httpStatus: 503 }, ["5xx"], false],
    [{ httpStatus: 503 }, ["5xx"], true],
    [{ httpStatus: 404 }, ["5xx"], false],
    [{ httpStatus: 404 }, ["5xx", 404], true],
    [{ httpStatus: 501 }, ["5xx"], false],
    [{ httpStatus: 501 }, [501], true],
    [{ httpStatus: 410 }, ["4xx"], false],
    [{ httpStatus: 410 }, ["410"], true],
    [{ code: "timed_out" }, ["timed_out"], true],
    [{ code: "timed_out" }, ["5xx"], false],
    [{ code: "http", httpStatus: 500 }, ["timed_out", "http"], true],
    [{}, [], false],
  ];
  for (const [failure, on, expected] of cases) {
    const conditions = on?.flatMap((item) => parseRetryCondition(item) ?? []);
    assertEquals(
      isRetryable({ code: "failed", ...failure }, conditions),
      expected,
      JSON.stringify([failure, on]),
    );
  }
});
