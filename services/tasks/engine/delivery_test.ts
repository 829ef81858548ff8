import { leaseHolder } from "./leases.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseDraft } from "../domain/history.ts";
import type { PushOutcome } from "../delivery/push_answer.ts";
import {
  parseVerifyingKey,
  verifyWebhook,
} from "../delivery/testing/verify_webhook.ts";
import { StoreBusyError } from "../store/store.ts";
import { createRing } from "../secrets/testing/keys.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { TENANT_ID } from "./testing/test_engine.ts";
import { answered, openTestPush, parseBody } from "./testing/test_push.ts";

Deno.test("Delivery writes the result of a call that succeeded", async () => {
  const world = await openTestPush({
    answer: () => answered(200, { bodyText: '{"sent":3}' }),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker);
  await world.clock.advance(10);
  const task = await world.read(made);
  assertEquals([task.status, task.resultJson], ["complete", '{"sent":3}']);
  const [call] = world.calls;
  assertEquals([call?.method, call?.url], [
    "POST",
    "https://worker.example/run",
  ]);
  assertEquals(call?.headers["task-id"], made.id);
  assertEquals(call?.headers["task-attempt"], "1");
  assertEquals(call?.headers["webhook-id"], `${made.id}.0`);
  assertEquals(call?.headers["webhook-signature"], undefined);
  assertMatch(
    call?.headers["traceparent"] ?? "",
    /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/,
  );
  await world.stop();
});

Deno.test("Delivery writes into the history why a result can't be read, and does not call again", async () => {
  const world = await openTestPush({
    answer: () => answered(200, { unreadable: "it is not gzip" }),
  });
  await world.start();
  const made = await world.task(await world.pushWorker());
  await world.clock.advance(10);
  const task = await world.read(made);
  assertEquals([task.status, task.resultJson], ["complete", "null"]);
  const { records } = await world.store.history({
    ...{ tenantId: TENANT_ID, taskId: made.id, order: "asc", limit: 9 },
  });
  const message = "Cannot read the result: it is not gzip";
  assertEquals(
    records.map(parseDraft).find(({ type }) => type === "succeeded")?.message,
    message,
  );
  assertEquals(world.calls.length, 1);
  await world.stop();
});

Deno.test("Delivery retries a call that failed, with the same id, after what its worker asked for", async () => {
  const answers: PushOutcome[] = [
    answered(503, { retryAfterMs: 45_000 }),
    { kind: "failed", code: "connection_failed", message: "no", durationMs: 1 },
    answered(200),
  ];
  const world = await openTestPush({
    answer: () => answers.shift() ?? answered(500),
  });
  const worker = await world.pushWorker({
    retry: { limit: 5, interval: "PT10S" },
  });
  await world.start();
  const made = await world.task(worker);
  await world.clock.advance(44_000);
  assertEquals(world.calls.length, 1);
  await world.clock.advance(30_000);
  const task = await world.read(made);
  assertEquals([task.status, task.executions, task.retries], [
    "complete",
    3,
    0,
  ]);
  const [first, second, third] = world.calls;
  assertEquals((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 45_000, true);
  const ids = world.calls.map(({ headers }) => headers["webhook-id"]);
  assertEquals(new Set(ids).size, 1);
  assertEquals(third?.headers["task-attempt"], "3");
  await world.stop();
});

Deno.test("Delivery fails a task for good when its worker says that another try is useless", async () => {
  for (const answer of [answered(410), answered(500, { isFinal: true })]) {
    const world = await openTestPush({ answer: () => answer });
    const worker = await world.pushWorker();
    await world.start();
    const made = await world.task(worker);
    await world.clock.advance(10);
    const task = await world.read(made);
    assertEquals(task.status, "failed");
    assertEquals(task.error?.httpStatus, answer.status);
    assertEquals(world.calls.length, 1);
    await world.stop();
  }
});

Deno.test("Delivery hands an accepted task over to its worker, who ends it with the token of the call", async () => {
  const world = await openTestPush({
    answer: () => answered(202, { leaseMs: 20_000 }),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker);
  await world.clock.advance(10);
  assertEquals((await world.read(made)).status, "running");
  const { attempt } = parseBody(world.calls[0]).data;
  const say = (token: string) =>
    world.engine.leases.report({
      holder: leaseHolder({ tenantId: TENANT_ID, leaseId: attempt.id, token }),
      event: (lease) => ({ kind: "complete", lease, resultJson: "1" }),
    });
  assertEquals((await say("")).kind, "lease_gone");
  assertEquals((await say("lt_guess")).kind, "lease_gone");
  assertEquals((await say(attempt.token)).kind, "ok");
  const task = await world.read(made);
  assertEquals([task.status, task.resultJson], ["complete", "1"]);
  assertEquals(await world.history(made), [
    "created",
    "started",
    "accepted",
    "succeeded",
    "completed",
  ]);
  await world.stop();
});

Deno.test("Delivery gives an accepted task again when its worker is not heard of", async () => {
  const world = await openTestPush({
    answer: () => answered(202, { leaseMs: 20_000 }),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker);
  await world.clock.advance(21_000);
  assertEquals(world.calls.length, 2);
  const { lost, fence } = await world.read(made);
  assertEquals([lost, fence], [1, 2]);
  await world.stop();
});

Deno.test("Delivery writes an outcome though the store is busy for a while, and calls once", async () => {
  for (const fault of ["busy", "before", "after"] as const) {
    let fails = 0;
    const world = await openTestPush({
      wrap: (store) =>
        interceptStore(store, {
          async commit(proceed) {
            if (fails <= 0) return await proceed();
            fails--;
            if (fault === "after") await proceed();
            throw fault === "busy"
              ? new StoreBusyError(50)
              : new Error("no disk");
          },
        }),
      answer: () => {
        fails = 4;
        return answered(200, { bodyText: "1" });
      },
    });
    const worker = await world.pushWorker();
    await world.start();
    const made = await world.task(worker);
    await world.clock.advance(5_000);
    const task = await world.read(made);
    assertEquals([task.status, task.executions], ["complete", 1], fault);
    assertEquals(world.calls.length, 1);
    await world.stop();
  }
});

Deno.test("Delivery fails an attempt that takes too long, and tells it as its own deadline", async () => {
  const world = await openTestPush({
    answer: ({ timeoutMs }) => {
      assertEquals(timeoutMs, 5_000);
      return new Promise<PushOutcome>(() => {});
    },
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker, { timeoutMs: 5_000, retry: null });
  await world.clock.advance(16_000);
  const task = await world.read(made);
  assertEquals([task.status, task.error?.code], ["failed", "timed_out"]);
  await world.stop();
});

Deno.test("Delivery calls a job at its own address, and none without one", async () => {
  const world = await openTestPush({ answer: () => answered(200) });
  const { url: _url, ...bare } = await world.pushWorker();
  const worker = await world.worker({
    ...bare,
    id: "wrk_jobs",
    name: "jobs",
    jobs: { a: { url: "https://a.example/" }, b: {} },
  });
  await world.start();
  await world.task(worker, { job: "a" });
  const lost = await world.task(worker, { job: "b", retry: null });
  await world.clock.advance(10);
  assertEquals(world.calls.map(({ url }) => url), ["https://a.example/"]);
  assertEquals((await world.read(lost)).error?.code, "no_url");
  await world.stop();
});

Deno.test("Delivery fills secrets in, and keeps them out of results and errors", async () => {
  const secret = "correct-horse-battery";
  for (const status of [200, 500]) {
    const world = await openTestPush({
      masterKeys: createRing("k1"),
      answer: () =>
        answered(status, {
          bodyText: JSON.stringify({ echo: `Bearer ${secret}` }),
        }),
    });
    const worker = await world.pushWorker({
      url: "https://worker.example/{{secrets.PATH}}",
      headers: { Authorization: "Bearer {{secrets.KEY}}" },
    });
    await world.addSecrets(worker, { KEY: secret, PATH: "hidden-path" });
    await world.start();
    const made = await world.task(worker, { retry: null });
    await world.clock.advance(10);
    const [call] = world.calls;
    assertEquals(call?.url, "https://worker.example/hidden-path");
    assertEquals(call?.headers["authorization"], `Bearer ${secret}`);
    const kept = JSON.stringify(await world.read(made));
    const { records } = await world.store.history({
      tenantId: TENANT_ID,
      taskId: made.id,
      order: "asc",
      limit: 100,
    });
    const told = JSON.stringify(records);
    const said = JSON.stringify(world.logger.lines);
    for (const text of [kept, told, said]) {
      assertEquals(text.includes(secret), false);
    }
    assert(kept.includes("Bearer "));
    await world.stop();
  }
});

Deno.test("Delivery keeps a secret out of an error that is cut in its midst", async () => {
  const secret = "correct-horse-battery";
  const world = await openTestPush({
    masterKeys: createRing("k1"),
    answer: () => answered(500, { bodyText: "x".repeat(1_010) + secret }),
  });
  const worker = await world.pushWorker();
  await world.addSecrets(worker, { KEY: secret });
  await world.start();
  const made = await world.task(worker, { retry: null });
  await world.clock.advance(10);
  const kept = JSON.stringify(await world.read(made));
  assert(kept.includes("xxx"));
  assertEquals(kept.includes("correct"), false);
  await world.stop();
});

Deno.test("Delivery keeps the beginning of a secret out of an answer that is cut in its midst", async () => {
  const secret = "correct-horse-battery";
  for (const status of [200, 500]) {
    const world = await openTestPush({
      masterKeys: createRing("k1"),
      answer: () =>
        answered(status, { bodyText: "xxx correct-h", isTruncated: true }),
    });
    const worker = await world.pushWorker();
    await world.addSecrets(worker, { KEY: secret });
    await world.start();
    const made = await world.task(worker, { retry: null });
    await world.clock.advance(10);
    const kept = JSON.stringify(await world.read(made));
    assert(kept.includes("xxx [secret KEY]"), kept);
    assertEquals(kept.includes("corr"), false);
    await world.stop();
  }
});

Deno.test("Delivery gives a task back when the store cannot be read, without a try spent", async () => {
  let isBroken = false;
  const world = await openTestPush({
    masterKeys: createRing("k1"),
    wrap: (store) =>
      interceptStore(store, {
        async records(proceed) {
          if (isBroken) throw new Error("no disk");
          return await proceed();
        },
      }),
    answer: () => answered(200, { bodyText: "1" }),
  });
  const worker = await world.pushWorker();
  await world.addSecrets(worker, { KEY: "correct-horse-battery" });
  await world.start();
  isBroken = true;
  const made = await world.task(worker, { retry: null });
  await world.clock.advance(10);
  assertEquals(world.calls.length, 0);
  const waiting = await world.read(made);
  assertEquals([waiting.status, waiting.executions, waiting.error], [
    "scheduled",
    0,
    undefined,
  ]);
  assertEquals(await world.history(made), ["created", "started", "released"]);
  assert(
    world.logger.lines.some(({ message }) =>
      message === "Cannot prepare push call: the store failed"
    ),
  );
  isBroken = false;
  await world.clock.advance(6_000);
  const task = await world.read(made);
  assertEquals([task.status, task.executions], ["complete", 1]);
  assertEquals(world.calls.length, 1);
  await world.stop();
});

Deno.test("Delivery makes no call when a secret is missing or cannot be opened", async () => {
  const masterKeys = createRing("k1");
  const world = await openTestPush({ masterKeys, answer: () => answered(200) });
  const lacking = await world.pushWorker({
    headers: { authorization: "{{secrets.NONE}}" },
  });
  await world.start();
  const made = await world.task(lacking, { retry: null });
  await world.clock.advance(10);
  const { status, error } = await world.read(made);
  assertEquals([status, error?.code], ["failed", "bad_request"]);
  assertEquals(error?.message.includes('"NONE"'), true);
  await world.stop();

  const { store, clock } = world;
  await world.addSecrets(lacking, { NONE: "now it is there" });
  const other = await openTestPush({
    store,
    clock,
    seed: 2,
    masterKeys: createRing("k1"),
    answer: () => answered(200),
  });
  await other.start();
  const again = await other.task(lacking, { retry: null });
  await other.clock.advance(10);
  assertEquals((await other.read(again)).error?.code, "secrets_unavailable");
  assertEquals([world.calls.length, other.calls.length], [0, 0]);
  await other.stop();
});

Deno.test("Delivery makes no call that lacks its signature or secrets for want of a master key", async () => {
  const world = await openTestPush({
    masterKeys: createRing("k1"),
    answer: () => answered(200),
  });
  const bare = await world.pushWorker({ name: "bare" });
  const filled = await world.pushWorker({
    name: "filled",
    headers: { authorization: "{{secrets.KEY}}" },
  });
  await world.addSecrets(filled, { KEY: "it is there" });
  const { key } = await world.vault.keys.ticket(TENANT_ID);
  const plain = await world.pushWorker({ name: "signed" });
  const signed = await world.changeWorker(plain, {
    signing: [world.vault.newSigning(plain, { key, number: 1 }).stored],
  });
  const { store, clock } = world;
  const none = await openTestPush({
    store,
    clock,
    seed: 2,
    answer: () => answered(200),
  });
  await none.start();
  const codes: (string | undefined)[] = [];
  for (const worker of [signed, filled, bare]) {
    const task = await none.task(worker, { retry: null });
    await none.clock.advance(10);
    codes.push((await none.read(task)).error?.code);
  }
  assertEquals(codes, [
    "secrets_unavailable",
    "secrets_unavailable",
    undefined,
  ]);
  assertEquals(none.calls.length, 1);
  await none.stop();
});

Deno.test("Delivery signs calls with each secret that is in force", async () => {
  const world = await openTestPush({
    masterKeys: createRing("k1"),
    answer: () => answered(200),
  });
  const plain = await world.pushWorker();
  const { key, writes } = await world.vault.keys.ticket(TENANT_ID);
  await world.parts.store.commit([{ writes }]);
  const [one, two, three] = [1, 2, 3].map((number) =>
    world.vault.newSigning(plain, { key, number })
  );
  assert(one !== undefined && two !== undefined && three !== undefined);
  const nowMs = world.clock.nowMs();
  const worker = await world.changeWorker(plain, {
    signing: [
      three.stored,
      { ...two.stored, expiresAtMs: nowMs + 60_000 },
      { ...one.stored, expiresAtMs: nowMs },
    ],
  });
  await world.start();
  await world.task(worker);
  await world.clock.advance(10);
  const [call] = world.calls;
  assert(call !== undefined);
  const isSigned = (text: string): boolean => {
    const parsed = parseVerifyingKey(text);
    return parsed.kind === "ok" &&
      verifyWebhook({ headers: call.headers, body: call.body }, {
          keys: [parsed.key],
          nowMs: call.atMs,
        }).kind === "ok";
  };
  assertEquals([three, two, one].map(({ text }) => isSigned(text)), [
    true,
    true,
    false,
  ]);
  await world.stop();
});

Deno.test("Delivery signs the call at the end of a task with the secret of its worker, though that is never called", async () => {
  const world = await openTestPush({
    masterKeys: createRing("k1"),
    answer: () => answered(200),
  });
  const plain = await world.worker();
  const { key, writes } = await world.vault.keys.ticket(TENANT_ID);
  await world.parts.store.commit([{ writes }]);
  const { text, stored } = world.vault.newSigning(plain, { key, number: 1 });
  const worker = await world.changeWorker(plain, { signing: [stored] });
  await world.start();
  const task = await world.task(worker, {
    callback: { url: "https://owner.example/end", on: ["complete"] },
  });
  await world.complete((await world.lease(worker))[0]);
  await world.clock.advance(10);
  const [call, ...others] = world.calls;
  assert(call !== undefined);
  assertEquals(others, []);
  assertEquals(call.headers["task-id"], task.id);
  const parsed = parseVerifyingKey(text);
  assert(parsed.kind === "ok");
  const verdict = verifyWebhook({ headers: call.headers, body: call.body }, {
    keys: [parsed.key],
    nowMs: call.atMs,
  });
  assertEquals(verdict.kind, "ok");
  await world.stop();
});

Deno.test("Delivery lets a task wait, and calls its worker again with the event", async () => {
  const wait = { event: "paid", state: { token: "s3cret-token" } };
  const answers: PushOutcome[] = [
    answered(200, {
      headers: { "task-wait": "yes" },
      bodyText: JSON.stringify({ wait_for: wait }),
    }),
    answered(200, { bodyText: '"done"' }),
  ];
  const world = await openTestPush({
    answer: () => answers.shift() ?? answered(500),
  });
  await world.start();
  const made = await world.task(await world.pushWorker());
  await world.clock.advance(10);
  assertEquals((await world.read(made)).status, "scheduled");
  const sent = await world.engine.changes.apply({
    tenantId: TENANT_ID,
    id: made.id,
    event: { kind: "send_event", name: "paid", dataJson: "17" },
    actor: { type: "user", id: "usr_1" },
  });
  assertEquals(sent.kind, "changed");
  await world.clock.advance(10);
  const task = await world.read(made);
  assertEquals([task.status, task.resultJson], ["complete", '"done"']);
  const [, second] = world.calls;
  assert(second !== undefined);
  const { data } = JSON.parse(second.body);
  assertEquals(data.state, wait.state);
  assertEquals([data.resumed.event, data.resumed.data], ["paid", 17]);
  await world.stop();
});
