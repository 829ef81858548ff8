import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Fault } from "../../shared/schema/fault.ts";
import { parseSecretsRequest, type SecretsRequest } from "./secret_request.ts";
import {
  MAX_SECRET_VALUE_BYTES,
  MAX_SECRETS_PER_WORKER,
} from "./secret_rules.ts";

Deno.test("parseSecretsRequest() reads dates and times of RFC 3339", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31t12:00:00z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31 12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31T12:00:00.123999+02:00", "2030-01-31T10:00:00.123Z"],
    ["2030-01-01T00:00:00-23:59", "2030-01-01T23:59:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"],
  ];
  for (const [text, expected] of cases) {
    assertEquals(parseExpiry(text), Date.parse(expected), text);
  }
});

Deno.test("parseSecretsRequest() refuses what is no date and time of RFC 3339", () => {
  const texts = [
    "",
    "2030",
    "2030-01-31",
    "2030-01-31T12:00Z",
    "2030-01-31T12:00:00",
    "2030-02-30T12:00:00Z",
    "2027-02-29T12:00:00Z",
    "2030-13-01T12:00:00Z",
    "2030-01-31T24:00:00Z",
    "2030-01-31T12:60:00Z",
    "2030-01-31T12:00:00+24:00",
    "2030-01-31T12:00:00Z\n",
    " 2030-01-31T12:00:00Z",
    "2030-01-31T12:00:00Z[UTC]",
    "+002030-01-31T12:00:00Z",
    "1893456000",
  ];
  for (const text of texts) assertEquals(parseExpiry(text), undefined, text);
});

const NOW_MS = Date.parse("2026-05-01T00:00:00Z");

Deno.test("parseSecretsRequest() reads one value", () => {
  assertEquals(read({ name: "API_KEY", value: "v" }), {
    kind: "values",
    secrets: [{ name: "API_KEY", value: "v" }],
  });
});

Deno.test("parseSecretsRequest() reads several values", () => {
  assertEquals(read({ secrets: { A: "1", B_2: " two \n" }, name: null }), {
    kind: "values",
    secrets: [{ name: "A", value: "1" }, { name: "B_2", value: " two \n" }],
  });
});

Deno.test("parseSecretsRequest() reads a request for a credential", () => {
  const plain = {
    kind: "credential",
    name: undefined,
    expiresAtMs: undefined,
    secrets: undefined,
  } as const;
  assertEquals(read(undefined), plain);
  assertEquals(read({}), plain);
  assertEquals(read({ type: null }), plain);
  assertEquals(read({ type: "credential" }), plain);
  assertEquals(
    read({ type: "credential", name: null, expires_at: null }),
    plain,
  );
  assertEquals(
    read({
      type: "credential",
      name: " build machine ",
      expires_at: "2026-05-01T00:00:00.001Z",
    }),
    { ...plain, name: "build machine", expiresAtMs: NOW_MS + 1 },
  );
  for (const secrets of [true, false]) {
    assertEquals(read({ type: "credential", secrets }), { ...plain, secrets });
  }
});

Deno.test("parseSecretsRequest() reads a request for a signing secret", () => {
  assertEquals(read({ type: "signing" }), { kind: "signing" });
});

Deno.test("parseSecretsRequest() tells what is wrong and where", () => {
  const long = "x".repeat(MAX_SECRET_VALUE_BYTES + 1);
  const cases: readonly (readonly [unknown, ...string[]])[] = [
    [null, " wrong_type"],
    [[], " wrong_type"],
    ["{}", " wrong_type"],
    [1, " wrong_type"],
    [{ value: "v" }, "/name missing"],
    [{ name: null, value: "v" }, "/name missing"],
    [{ name: 1, value: "v" }, "/name wrong_type"],
    [{ name: "api-key", value: "v" }, "/name bad_name"],
    [{ name: "", value: "v" }, "/name bad_name"],
    [{ name: "A".repeat(65), value: "v" }, "/name bad_name"],
    [{ name: "A" }, "/value missing"],
    [{ name: "A", value: null }, "/value wrong_type"],
    [{ name: "A", value: 5 }, "/value wrong_type"],
    [{ name: "A", value: "" }, "/value empty"],
    [{ name: "A", value: long }, "/value too_long"],
    [{ name: "A", value: "é".repeat(8_193) }, "/value too_long"],
    [{ name: "A", value: "\ud800" }, "/value bad_text"],
    [{ name: "a", value: "" }, "/name bad_name", "/value empty"],
    [{ secrets: [] }, "/secrets wrong_type"],
    [{ secrets: "A" }, "/secrets wrong_type"],
    [{ secrets: {} }, "/secrets empty"],
    [{ secrets: { A: 1, B: "v" } }, "/secrets/A wrong_type"],
    [{ secrets: { A: null } }, "/secrets/A wrong_type"],
    [{ secrets: { a: "v" } }, "/secrets bad_name"],
    [JSON.parse(`{"secrets":{"__proto__":"v"}}`), "/secrets bad_name"],
    [{ secrets: { A: "v" }, name: "B" }, "/name not_allowed"],
    [
      { secrets: { A: "v" }, name: "B", value: "v" },
      "/name not_allowed",
      "/value not_allowed",
    ],
    [{ name: "A", value: "v", expires_at: "x" }, "/expires_at not_allowed"],
    [{ type: "signing", name: "A" }, "/name not_allowed"],
    [{ type: "credential", value: null }, "/value not_allowed"],
    [{ type: "credential", secrets: { A: "" } }, "/secrets wrong_type"],
    [{ type: "signing", secrets: true }, "/secrets not_allowed"],
    [{ type: "credentials" }, "/type unknown_type"],
    [{ type: 1 }, "/type wrong_type"],
    [{ type: "credential", name: 7 }, "/name wrong_type"],
    [{ type: "credential", name: "  " }, "/name empty"],
    [{ type: "credential", name: "x".repeat(101) }, "/name too_long"],
    [{ type: "credential", name: "a\nb" }, "/name bad_text"],
    [{ type: "credential", name: "a\u202eb" }, "/name bad_text"],
    [{ type: "credential", expires_at: 5 }, "/expires_at wrong_type"],
    [{ type: "credential", expires_at: "soon" }, "/expires_at bad_date"],
    [
      { type: "credential", expires_at: "2026-05-01T00:00:00Z" },
      "/expires_at past",
    ],
    [{ expires_at: "2030-01-01T00:00:00Z" }, "/type missing"],
    [{ typ: "signing" }, "/typ unknown_field"],
    [
      JSON.parse(`{"__proto__":{"type":"signing"}}`),
      "/__proto__ unknown_field",
    ],
    [{ "a/b~c": 1 }, "/a~1b~0c unknown_field"],
    [{ ["k".repeat(65)]: 1 }, " unknown_field"],
  ];
  for (const [body, ...expected] of cases) {
    const found = findProblems(body).map(({ pointer, code }) =>
      `${pointer} ${code}`
    );
    assertEquals(found, expected, JSON.stringify(body)?.slice(0, 80));
  }
});

Deno.test("parseSecretsRequest() accepts the longest value there may be", () => {
  for (const value of ["x".repeat(16_384), "é".repeat(8_192)]) {
    const request = read({ name: "A", value });
    assertEquals(request, { kind: "values", secrets: [{ name: "A", value }] });
  }
});

Deno.test("parseSecretsRequest() guesses what was meant", () => {
  assertStringIncludes(getDetail({ nmae: "A" }), `did you mean "name"?`);
  assertStringIncludes(getDetail({ foo: 1 }), "the fields are name, value");
  assertStringIncludes(
    getDetail({ type: "credentail" }),
    `did you mean "credential"?`,
  );
});

Deno.test("parseSecretsRequest() accepts as many secrets as a worker may have", () => {
  const request = read({ secrets: named(MAX_SECRETS_PER_WORKER) });
  assert(request.kind === "values");
  assertEquals(request.secrets.length, MAX_SECRETS_PER_WORKER);
  const [problem] = findProblems({
    secrets: named(MAX_SECRETS_PER_WORKER + 1),
  });
  assertEquals(problem?.code, "too_many");
});

Deno.test("parseSecretsRequest() bounds its problems", () => {
  const fields = Array.from({ length: 10_000 }, (_, n) => [`f${n}`, 1]);
  const problems = findProblems(Object.fromEntries(fields));
  assertEquals(problems.length, 50);
});

Deno.test("parseSecretsRequest() shows no value in its messages", () => {
  const secret = "hunter2hunter2";
  const bodies: unknown[] = [
    { name: secret, value: "API_KEY" },
    { secrets: { [secret]: "API_KEY" } },
    { name: "A", value: { inner: secret } },
    { name: "A", value: secret.repeat(2_000) },
    { name: "A", value: `${secret}\ud800` },
    { type: secret },
    { type: "credential", name: `${secret}\nx` },
    { type: "credential", expires_at: secret },
    { type: "signing", value: secret },
    secret,
  ];
  for (const body of bodies) {
    const shown = JSON.stringify(findProblems(body));
    assert(!shown.includes(secret), shown);
  }
});

/** The expiry that is read from a text; no time counts as past. */
function parseExpiry(text: string): number | undefined {
  const body = { type: "credential", expires_at: text };
  const outcome = parseSecretsRequest(body, -Infinity);
  if (outcome.kind === "ok") {
    assert(outcome.request.kind === "credential");
    return outcome.request.expiresAtMs;
  }
  const found = outcome.problems.map(({ pointer, code }) => [pointer, code]);
  assertEquals(found, [["/expires_at", "bad_date"]]);
  return undefined;
}

function named(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`S${n}`, "v"]),
  );
}

function read(body: unknown): SecretsRequest {
  const outcome = parseSecretsRequest(body, NOW_MS);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.request;
}

function findProblems(body: unknown): readonly Fault[] {
  const outcome = parseSecretsRequest(body, NOW_MS);
  assert(outcome.kind === "invalid", JSON.stringify(body));
  assert(outcome.problems.length > 0);
  for (const { detail } of outcome.problems) {
    assert(detail.startsWith("Cannot read secrets: "), detail);
  }
  return outcome.problems;
}

function getDetail(body: unknown): string {
  return findProblems(body)[0]?.detail ?? "";
}
