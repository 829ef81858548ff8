import { assert, assertEquals } from "@std/assert";
import { empty, getStatus, json, renderAnswer } from "./answer.ts";
import { invalidRequest, problem } from "./problem_answer.ts";
import { PROBLEM_CODES, problemKind } from "./problem_catalog.ts";

const OPTIONS = {
  requestId: "req_1",
  scheme: "https",
  host: "tasks.example.com",
} as const;

Deno.test("renderAnswer() writes JSON, text and nothing", () => {
  assertEquals(
    renderAnswer(json({ a: 1 }, { headers: { etag: '"1"' } }), OPTIONS),
    {
      status: 200,
      headers: {
        "content-type": "application/json",
        "cache-control": "no-store",
        "x-request-id": "req_1",
        etag: '"1"',
      },
      body: '{"a":1}',
    },
  );
  assertEquals(renderAnswer(empty(), OPTIONS), {
    status: 204,
    headers: { "cache-control": "no-store", "x-request-id": "req_1" },
  });
});

Deno.test("renderAnswer() writes a problem as RFC 9457 says", () => {
  const answer = problem("rate_limited", {
    detail: "Cannot serve so many requests",
    retryAfterMs: 1_200,
    extensions: { limit: 10, status: 200, code: "x" },
    headers: { ratelimit: '"default";r=0;t=2' },
  });
  const { status, headers, body } = renderAnswer(answer, OPTIONS);
  assertEquals(status, 429);
  assertEquals(headers, {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    "x-request-id": "req_1",
    "retry-after": "2",
    ratelimit: '"default";r=0;t=2',
  });
  assertEquals(JSON.parse(String(body)), {
    type: "https://tasks.example.com/problems/rate_limited",
    title: "Too many requests",
    status: 429,
    detail: "Cannot serve so many requests",
    instance: "/requests/req_1",
    code: "rate_limited",
    request_id: "req_1",
    retry_after: 2,
    limit: 10,
  });
});

Deno.test("renderAnswer() challenges as RFC 6750 says", () => {
  const challenge = (answer: ReturnType<typeof problem>): string | undefined =>
    renderAnswer(answer, { ...OPTIONS, realm: "acme" })
      .headers["www-authenticate"];
  assertEquals(
    challenge(problem("missing_credentials")),
    'Bearer realm="acme"',
  );
  assertEquals(
    challenge(problem("token_expired")),
    'Bearer realm="acme", error="invalid_token"',
  );
  assertEquals(
    challenge(problem("forbidden", { extensions: { scope: "tasks:write" } })),
    'Bearer realm="acme", error="insufficient_scope", scope="tasks:write"',
  );
  assertEquals(challenge(problem("forbidden")), undefined);
  assertEquals(challenge(problem("not_found")), undefined);
  for (const code of PROBLEM_CODES) {
    const isDenied = problemKind(code).status === 401;
    if (isDenied) assert(challenge(problem(code)) !== undefined, code);
  }
});

Deno.test("invalidRequest() has the code that all faults share", () => {
  const cron = {
    pointer: "/repeat/cron",
    code: "bad_cron",
    detail: "Cannot a",
  };
  const other = { parameter: "limit", code: "too_large", detail: "Cannot b" };
  assertEquals(invalidRequest([cron]), {
    kind: "problem",
    code: "bad_cron",
    detail: "Cannot a",
    errors: [cron],
  });
  assertEquals(invalidRequest([cron, cron]).code, "bad_cron");
  assertEquals(invalidRequest([cron, other]).code, "invalid");
  assertEquals(invalidRequest([other]).code, "invalid");
  // A fault's code that belongs to another status does not become the problem's
  // code.
  assertEquals(
    invalidRequest([{ pointer: "", code: "too_large", detail: "Cannot" }]).code,
    "invalid",
  );
  assertEquals(getStatus(invalidRequest([other])), 422);
});

Deno.test("every kind of problem says what it is, and nothing ends with a full stop", () => {
  for (const code of PROBLEM_CODES) {
    const { status, title, description, example } = problemKind(code);
    assert(status >= 400 && status < 600, code);
    assert(title.length > 10 && !title.endsWith("."), code);
    assert(description.endsWith("."), code);
    assert(/^Cannot .*[^.]$/.test(example.detail), code);
  }
  const statuses = PROBLEM_CODES.map((code) => problemKind(code).status);
  assertEquals(statuses, statuses.toSorted((left, right) => left - right));
});
