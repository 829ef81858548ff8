import { assert, assertEquals } from "@std/assert";
import type { LimitStatus } from "./decision.ts";
import { toAnswer, undecidedAnswer } from "./limit_answer.ts";

/** A limit of three a minute, of which two are left. */
const WITHIN: LimitStatus = {
  allowed: true,
  rule: "limit",
  name: undefined,
  remaining: 2,
  limit: 3,
  windowSeconds: 60,
  resetSeconds: 17,
};
const OVER: LimitStatus = { ...WITHIN, allowed: false, remaining: 0 };
const NONE: LimitStatus = {
  allowed: true,
  rule: "none",
  name: undefined,
  remaining: undefined,
  limit: undefined,
  windowSeconds: undefined,
  resetSeconds: undefined,
};

Deno.test("toAnswer() tells of each limit under a name of its own when a request passes", () => {
  const answer = toAnswer({
    allowed: true,
    statuses: [
      { ...WITHIN, name: 'da"i\\lyé' },
      NONE,
      { ...NONE, rule: "unlimited" },
      WITHIN,
      { ...WITHIN, windowSeconds: undefined, resetSeconds: undefined },
    ],
  });
  assertEquals(answer, {
    kind: "pass",
    fields: {
      "RateLimit-Policy":
        '"da\\"i\\\\ly_";q=3;w=60, "limit";q=3;w=60, "limit-2";q=3',
      "RateLimit": '"da\\"i\\\\ly_";r=2;t=17, "limit";r=2;t=17, "limit-2";r=2',
    },
  });
});

Deno.test("toAnswer() adds nothing when no limit applied", () => {
  assertEquals(toAnswer({ allowed: true, statuses: [NONE] }), {
    kind: "pass",
    fields: {},
  });
});

Deno.test("toAnswer() lets pass what the service allows although a limit is exceeded", () => {
  // So it is in shadow mode, and with a quota of several.
  const answer = toAnswer({ allowed: true, statuses: [OVER] });
  assertEquals(answer, {
    kind: "pass",
    fields: {
      "RateLimit-Policy": '"limit";q=3;w=60',
      "RateLimit": '"limit";r=0;t=17',
    },
  });
});

Deno.test("toAnswer() refuses with the longest wait of the limits that are exceeded", () => {
  const answer = toAnswer({
    allowed: false,
    statuses: [
      { ...OVER, name: "burst", resetSeconds: 5 },
      { ...OVER, name: "daily", resetSeconds: 900 },
      { ...WITHIN, name: "yearly", resetSeconds: 9_000 },
    ],
  });
  assert(answer.kind === "refuse");
  const { status, fields, body } = answer.answer;
  assertEquals([status, fields["Retry-After"]], [429, "900"]);
  assertEquals(fields["Content-Type"], "application/problem+json");
  assertEquals(JSON.parse(body), {
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Too Many Requests",
    status: 429,
    "violated-policies": ["burst", "daily"],
  });
});

Deno.test("toAnswer() asks a client to wait a second at least, and says nothing where no time is known", () => {
  for (
    const [resetSeconds, wanted] of [[0, "1"], [undefined, undefined]] as const
  ) {
    const answer = toAnswer({
      allowed: false,
      statuses: [{ ...OVER, resetSeconds }],
    });
    assert(answer.kind === "refuse");
    assertEquals(answer.answer.fields["Retry-After"], wanted);
  }
});

Deno.test("undecidedAnswer() is a problem with the status 503", () => {
  const answer = undecidedAnswer();
  assert(answer.kind === "refuse");
  const { status, body } = answer.answer;
  assertEquals([status, JSON.parse(body).status], [503, 503]);
});
