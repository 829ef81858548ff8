import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";
import { sha256 } from "../store/digest.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import {
  type Answer,
  json,
  renderAnswer,
  type RenderedAnswer,
} from "./answer.ts";
import {
  bodyHash,
  fillPlace,
  holdPlace,
  idempotencyStoreKey,
  IdempotentAnswers,
  keepAnswer,
  parseIdempotencyKey,
  requestInProgress,
} from "./idempotency.ts";
import { problem } from "./problem_answer.ts";
import { userRoutes } from "../routes/users/user_routes.ts";
import { workerRoutes } from "../routes/workers/worker_routes.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";

const REQUEST = {
  tenantId: "ten_a",
  credential: "key:1",
  method: "POST",
  path: "/v1/things",
  key: "k",
  body: new TextEncoder().encode("{}"),
  rendering: { requestId: "r", scheme: "http", host: "acme.test" } as const,
};

Deno.test("parseIdempotencyKey() reads a plain key and a quoted one alike", () => {
  const parseKey = (header: string): string => {
    const outcome = parseIdempotencyKey(header);
    return outcome.kind === "ok" ? outcome.key : outcome.kind;
  };
  assertEquals(
    parseKey("8e03978e-40d5-43dd-bc93-6894a57f9324"),
    "8e03978e-40d5-43dd-bc93-6894a57f9324",
  );
  assertEquals(parseKey('"8e03"'), "8e03");
  assertEquals(parseKey('  "a\\"b\\\\c" '), 'a"b\\c');
  assertEquals(parseKey('a"b'), 'a"b');
  assertEquals(parseKey("x".repeat(255)), "x".repeat(255));
  assertEquals(parseKey(`"${'\\"'.repeat(255)}"`), '"'.repeat(255));
  for (
    const bad of [
      "",
      " ",
      '""',
      '"a',
      '"a"b"',
      '"a";p=1',
      '"a", "b"',
      "a b",
      "a, b",
      "é",
      "a\u0000",
      "a\nb",
      '"a b"',
      "x".repeat(256),
      `"${"x".repeat(256)}"`,
      '"'.repeat(10_000),
    ]
  ) assertEquals(parseKey(bad), "problem", bad.slice(0, 20));
});

Deno.test("idempotencyStoreKey() differs wherever anything differs", () => {
  const scope = {
    tenantId: "ten_1",
    credential: "key:1",
    method: "POST",
    path: "/v1/tasks",
  };
  const keys = [
    idempotencyStoreKey(scope, "a"),
    idempotencyStoreKey(scope, "b"),
    idempotencyStoreKey({ ...scope, tenantId: "ten_2" }, "a"),
    idempotencyStoreKey({ ...scope, credential: "key:2" }, "a"),
    idempotencyStoreKey({ ...scope, method: "PUT" }, "a"),
    idempotencyStoreKey({ ...scope, path: "/v1/tasks/x" }, "a"),
    // Moving text from one part of the scope to another makes a difference,
    // too.
    idempotencyStoreKey({ ...scope, method: "POST/v1", path: "/tasks" }, "a"),
  ];
  assertEquals(new Set(keys).size, keys.length);
  assertEquals(idempotencyStoreKey({ ...scope }, "a"), keys[0]);
  assert(keys.every((key) => /^[\w-]{43}$/.test(key)));
});

Deno.test("bodyHash() is the same for a text and its bytes", () => {
  const text = '{"a": "é"}';
  const bytes = new TextEncoder().encode(text);
  assertEquals(bodyHash("k", text), bodyHash("k", bytes));
  assert(bodyHash("k", text) !== bodyHash("k", `${text} `));
});

Deno.test("IdempotentAnswers stores nothing by which bodies could be tried out", async () => {
  const { answers, store, clock } = await bench();
  const slot = await open(answers);
  await slot.keep(json({}));
  await slot.close();
  const { tenantId, key } = slot.place;
  const entry = await store.idempotency(tenantId, key, clock.nowMs());
  const { body } = REQUEST;
  assertEquals(entry?.bodyHash, bodyHash(REQUEST.key, body));
  assert(entry?.bodyHash !== sha256("{}"));
  assert(entry?.bodyHash !== bodyHash("another key", body));
  await store.stop();
});

Deno.test("IdempotentAnswers gives an answer again that an earlier version kept", async () => {
  const { answers, store, clock } = await bench();
  const { place, close } = await open(answers);
  close();
  const answer = render(json({ early: 1 }));
  await store.commit([{
    writes: [keepAnswer({ ...place, bodyHash: sha256("{}") }, {
      answer,
      nowMs: clock.nowMs(),
    })],
  }]);
  assertEquals(await replayed(answers), '{"early":1}');
  const other = { ...REQUEST, body: new TextEncoder().encode("[]") };
  assertEquals(getCode(await answers.open(other)), "idempotency_key_reused");
  await store.stop();
});

Deno.test("a repeated request gets the conflict again that the commit found", async () => {
  const api = await openTestApi({
    routes: (parts) => [...workerRoutes(parts), ...userRoutes(parts)],
  });
  const worker = { name: "x" };
  await api.call("POST", "/v1/workers", { body: worker });
  const taken = await keyed(api, "/v1/workers", worker);
  assertEquals([taken.status, taken.at("code")], [409, "name_taken"]);
  await api.call("DELETE", "/v1/workers/x");
  const again = await keyed(api, "/v1/workers", worker);
  assertEquals([again.status, again.json], [409, taken.json]);
  assertEquals(again.headers["idempotency-replayed"], "true");

  const user = { email: "a@example.com", role: "member" };
  const made = await api.call("POST", "/v1/users", { body: user });
  const refused = await keyed(api, "/v1/users", user);
  assertEquals([refused.status, refused.at("code")], [409, "email_taken"]);
  await api.call("DELETE", `/v1/users/${made.textAt("id")}`);
  assertEquals((await keyed(api, "/v1/users", user)).json, refused.json);
  await api.close();
});

Deno.test("a repeated request finds null where something is shown once", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const body = { name: "x", url: "https://x.example.com" };
  const first = await keyed(api, "/v1/workers", body);
  const again = await keyed(api, "/v1/workers", body);
  assertEquals(typeof first.at("signing_secret"), "string");
  assertEquals([again.status, again.at("signing_secret")], [201, null]);
  await api.close();
});

Deno.test("IdempotentAnswers keeps what was given, not what was proposed and did not fit", async () => {
  const { answers, store } = await bench();
  const slot = await open(answers);
  slot.writes(json({ made: 1 }));
  const given = json({ found: 1 });
  await slot.keep(given);
  await slot.close();
  assertEquals(await replayed(answers), '{"found":1}');
  await store.stop();
});

Deno.test("IdempotentAnswers renders an answer once, for the store and for the client", async () => {
  const { answers, store } = await bench();
  const slot = await open(answers);
  let rendered = 0;
  const answer = json({
    toJSON() {
      rendered++;
      return { made: 1 };
    },
  });
  await store.commit([{ writes: slot.writes(answer) }]);
  await slot.keep(answer);
  assertEquals(slot.rendered(answer).body, '{"made":1}');
  assertEquals(rendered, 1);
  await slot.close();
  await store.stop();
});

Deno.test("IdempotentAnswers leaves alone what was written with the effect", async () => {
  const { answers, store } = await bench();
  const slot = await open(answers);
  await store.commit([{ writes: slot.writes(json({ key: null })) }]);
  await slot.keep(json({ key: "shown once" }));
  await slot.close();
  assertEquals(await replayed(answers), '{"key":null}');
  await store.stop();
});

Deno.test("IdempotentAnswers keeps no answer that says nothing about the request", async () => {
  const { answers, store } = await bench();
  for (
    const answer of [
      requestInProgress(),
      problem("key_conflict", { retryAfterMs: 1_000 }),
      problem("overloaded"),
      problem("rate_limited"),
      problem("invalid_credentials"),
    ]
  ) {
    const slot = await open(answers);
    assertEquals(slot.writes(answer), []);
    await slot.keep(answer);
    await slot.close();
  }
  assertEquals((await answers.open(REQUEST)).kind, "new");
  await store.stop();
});

Deno.test("IdempotentAnswers forgets an answer after a day", async () => {
  const { answers, store, clock } = await bench();
  const slot = await open(answers);
  await slot.keep(json({}));
  await slot.close();
  clock.advance(86_400_000 - 1);
  assertEquals((await answers.open(REQUEST)).kind, "replay");
  clock.advance(1);
  assertEquals((await answers.open(REQUEST)).kind, "new");
  await store.stop();
});

Deno.test("IdempotentAnswers waits a while for an answer that is yet to come", async () => {
  const { answers, store, clock } = await bench();
  const { place, close } = await open(answers);
  await store.commit([{ writes: [holdPlace(place, clock.nowMs())] }]);
  close();

  const tooEarly = answers.open(REQUEST);
  await clock.advanceAsync(20_000);
  assertEquals(getCode(await tooEarly), "idempotency_in_progress");
  const other = answers.open({
    ...REQUEST,
    body: new TextEncoder().encode("[]"),
  });
  assertEquals(getCode(await other), "idempotency_key_reused");

  const patient = answers.open(REQUEST);
  await clock.advanceAsync(500);
  const options = { answer: render(json({ done: 1 })), nowMs: clock.nowMs() };
  const [taken, filled] = await store.commit([
    { writes: [keepAnswer(place, options)] },
    { writes: [fillPlace(place, options)] },
  ]);
  assertEquals([taken?.kind, filled?.kind], ["conflict", "ok"]);
  await clock.advanceAsync(500);
  const outcome = await patient;
  assertEquals(
    outcome.kind === "replay" && outcome.answer.body,
    '{"done":1}',
  );
  await store.stop();
});

function keyed(api: TestApi, path: string, body: unknown) {
  return api.call("POST", path, {
    body,
    headers: { "idempotency-key": "k" },
  });
}

async function bench() {
  const clock = new FakeClock();
  const store = createMemoryStore({ clock });
  await store.start();
  return { clock, store, answers: new IdempotentAnswers({ store, clock }) };
}

async function open(answers: IdempotentAnswers) {
  const outcome = await answers.open(REQUEST);
  if (outcome.kind !== "new") throw new Error(outcome.kind);
  return outcome.slot;
}

async function replayed(answers: IdempotentAnswers) {
  const outcome = await answers.open(REQUEST);
  return outcome.kind === "replay" ? outcome.answer.body : outcome;
}

function getCode(outcome: Awaited<ReturnType<IdempotentAnswers["open"]>>) {
  return outcome.kind === "problem" ? outcome.code : outcome.kind;
}

function render(answer: Answer): RenderedAnswer {
  return renderAnswer(answer, REQUEST.rendering);
}

Deno.test("IdempotentAnswers.open() does not wait longer when the time of day is set back", async () => {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  await store.start();
  const answers = new IdempotentAnswers({ store, clock });
  const place = {
    tenantId: REQUEST.tenantId,
    key: idempotencyStoreKey(REQUEST, REQUEST.key),
    bodyHash: bodyHash(REQUEST.key, REQUEST.body),
  };
  await store.commit([{ writes: [holdPlace(place, clock.nowMs())] }]);
  let kind: string | undefined;
  const opening = answers.open(REQUEST).then((outcome) => kind = outcome.kind);
  await clock.advance(5_000);
  clock.step(-3_600_000);
  await clock.advance(4_000);
  assertEquals(kind, undefined);
  await clock.advance(1_100);
  assertEquals(kind, "problem");
  await opening;
});
