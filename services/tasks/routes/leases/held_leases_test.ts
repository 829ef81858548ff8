import { assertEquals } from "@std/assert";
import { addTask, listRecords } from "../workers/testing/add_task.ts";
import { type LeaseApi, openLeaseApi } from "./testing/lease_api.ts";

const OLD = "OldSecretValue-111";
const NEW = "NewSecretValue-222";
const PATH = "/v1/workers/mailer/secrets";

/** Sets the secret of the worker. */
async function set(api: LeaseApi, value: string): Promise<void> {
  const body = { name: "TOK", value };
  assertEquals((await api.call("POST", PATH, { body })).status, 201);
}

Deno.test("LeaseScrubbers takes out a secret that was replaced while the lease was out", async () => {
  const api = await openLeaseApi();
  await set(api, OLD);
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  await set(api, NEW);
  const lines = [`old ${OLD} new ${NEW}`];
  assertEquals((await api.say(lease, "log", { lines })).status, 200);
  const result = { old: OLD, new: NEW };
  assertEquals((await api.say(lease, "complete", { result })).status, 200);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(
    stored?.resultJson,
    '{"old":"[secret TOK]","new":"[secret TOK]"}',
  );
  const told = JSON.stringify(await listRecords(api, task));
  assertEquals([told.includes(OLD), told.includes(NEW)], [false, false]);
  await api.close();
});

Deno.test("LeaseScrubbers takes out a secret that was removed, or removed and set anew, while the lease was out", async () => {
  const api = await openLeaseApi();
  for (const isSetAnew of [false, true]) {
    await set(api, OLD);
    const task = await addTask(api, api.mailer);
    const lease = await api.take();
    await api.call("DELETE", `${PATH}/TOK`);
    if (isSetAnew) await set(api, NEW);
    await api.say(lease, "complete", { result: OLD });
    const stored = await api.store.task(api.tenant.id, task.id);
    assertEquals(stored?.resultJson, '"[secret TOK]"');
  }
  const list = await api.call("GET", PATH);
  const names = (list.at("data") as { readonly name: string }[])
    .map(({ name }) => name);
  assertEquals(names.filter((name) => name === "TOK").length, 1);
  await api.close();
});

Deno.test("LeaseScrubbers keeps replaced secrets out of batches too", async () => {
  const api = await openLeaseApi();
  await set(api, OLD);
  const task = await addTask(api, api.mailer);
  const { id, token } = await api.take();
  await set(api, NEW);
  const answer = await api.call("POST", "/v1/leases/batch", {
    key: api.credential,
    body: { leases: [{ id, token, action: "complete", result: OLD }] },
  });
  assertEquals(answer.status, 200, answer.text);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.resultJson, '"[secret TOK]"');
  await api.close();
});

Deno.test("a worker that is removed leaves none of its replaced secrets", async () => {
  const api = await openLeaseApi();
  await set(api, OLD);
  await set(api, NEW);
  const { retiredSecrets } = api.engine.parts.repositories;
  assertEquals((await retiredSecrets.all(api.tenant.id)).length, 1);
  await addTask(api, api.mailer);
  const lease = await api.take();
  const removed = await api.call("DELETE", "/v1/workers/mailer?cancel=true");
  assertEquals(removed.status, 204);
  assertEquals(await retiredSecrets.all(api.tenant.id), []);
  // Reports of holders whose lease has ended are refused by then.
  for (const action of ["log", "complete"]) {
    const body = action === "log" ? { lines: [OLD] } : { result: OLD };
    assertEquals((await api.say(lease, action, body)).status, 409, action);
  }
  await api.close();
});
