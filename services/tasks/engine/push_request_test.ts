import { assert, assertEquals } from "@std/assert";
import type { PushRequest } from "../delivery/push_call.ts";
import { newSigningSecret } from "../delivery/webhook_signature.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import { buildPushRequest, type PushRequestOutcome } from "./push_request.ts";
import { openTestEngine } from "./testing/test_engine.ts";

interface Wish {
  readonly worker?: Partial<WorkerDefinition>;
  readonly url?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly signing?: readonly string[];
}

async function make(wish: Wish): Promise<PushRequestOutcome> {
  const world = await openTestEngine();
  const worker = await world.worker(wish.worker);
  const task = await world.task(worker);
  return buildPushRequest({
    embedded: JSON,
    task: { ...task, fence: 3, run: 2 },
    worker,
    url: wish.url ?? "https://worker.example/",
    secrets: new Map(Object.entries(wish.secrets ?? {})),
    signing: wish.signing ?? [],
    type: "task.run",
    data: { a: 1 },
    nowMs: Date.UTC(2026, 0, 2),
    traceparent: "00-trace",
  });
}

async function request(wish: Wish): Promise<Omit<PushRequest, "timeoutMs">> {
  const outcome = await make(wish);
  assert(outcome.kind === "ok");
  return outcome.request;
}

Deno.test("buildPushRequest() says what happens, of which run and attempt, and when", async () => {
  const { body, headers, method } = await request({
    worker: { method: "PUT" },
  });
  assertEquals(method, "PUT");
  assertEquals(JSON.parse(body), {
    type: "task.run",
    timestamp: "2026-01-02T00:00:00.000Z",
    data: { a: 1 },
  });
  assertEquals(headers["task-attempt"], "3");
  assertEquals(headers["webhook-id"], `${headers["task-id"]}.2`);
  assertEquals(headers["webhook-timestamp"], "1767312000");
  assertEquals(headers["content-type"], "application/json");
  assertEquals(headers["traceparent"], "00-trace");
});

Deno.test("buildPushRequest() lets no header of the worker stand for the service's own", async () => {
  const names = [
    "Content-Type",
    "Webhook-Id",
    "Webhook-Signature",
    "Webhook-Timestamp",
    "Task-Id",
    "Task-Attempt",
    "Traceparent",
  ];
  const { headers } = await request({
    signing: [newSigningSecret()],
    worker: {
      headers: Object.fromEntries([
        ...names.map((name) => [name, "forged"]),
        ["X-Own", "kept"],
      ]),
    },
  });
  assertEquals(headers["x-own"], "kept");
  assertEquals(Object.values(headers).includes("forged"), false);
  assertEquals(
    Object.keys(headers).filter((name) => name !== name.toLowerCase()),
    [],
  );
});

Deno.test("buildPushRequest() makes no request that lacks a secret or would break out of its place", async () => {
  const lacking = await make({ url: "https://worker.example/{{secrets.A}}" });
  assert(lacking.kind === "invalid" && lacking.reason.includes('"A"'));
  const broken = await make({
    worker: { headers: { authorization: "{{secrets.A}}" } },
    secrets: { A: "line\r\nbreak: yes" },
  });
  assert(broken.kind === "invalid");
  assertEquals(broken.reason.includes("break: yes"), false);
});
