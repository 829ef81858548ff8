import { assertEquals, assertNotEquals } from "@std/assert";
import { createTenantKey, planRewrap } from "../../secrets/tenant_key.ts";
import { createRing } from "../../secrets/testing/keys.ts";
import { openTestApi, type TestApi } from "../testing/test_api.ts";
import { leaseRoutes } from "../leases/lease_routes.ts";
import { workerRoutes } from "./worker_routes.ts";

const MASTER_KEYS = createRing("k1");
const PUSH = { name: "push", url: "https://a.example.com/" };

/** Opens the API with two workers that have secrets. */
async function open(): Promise<TestApi & { readonly signingSecret: string }> {
  const api = await openTestApi({
    masterKeys: MASTER_KEYS,
    routes: (parts) => [...workerRoutes(parts), ...leaseRoutes(parts)],
  });
  const made = await api.call("POST", "/v1/workers", { body: PUSH });
  await api.call("POST", "/v1/workers", { body: { name: "pull" } });
  for (const name of ["push", "pull"]) {
    const answer = await api.call("POST", `/v1/workers/${name}/secrets`, {
      body: { name: "A", value: "some value" },
    });
    assertEquals(answer.status, 201);
  }
  return { ...api, signingSecret: made.textAt("signing_secret") };
}

/** Replaces the tenant's key by one that an unknown master key wraps. */
async function loseKey({ engine, tenant, write }: TestApi): Promise<void> {
  const { dataKeys } = engine.parts.repositories;
  const stored = await dataKeys.get(tenant.id, "data");
  if (stored === undefined) throw new Error("there is no key");
  const { wrapped } = createTenantKey({
    tenantId: tenant.id,
    masterKeys: createRing("lost"),
  });
  const version = stored.version + 1;
  await write(dataKeys.update(stored, { ...stored, version, wrapped }));
}

Deno.test("what needs a key that is lost answers 503 secrets_unavailable, and all else works", async () => {
  const api = await open();
  await loseKey(api);
  const calls: readonly (readonly [string, string, unknown])[] = [
    ["POST", "/v1/workers", { ...PUSH, name: "other" }],
    ["PUT", "/v1/workers/push", { asymmetric: true }],
    ["PUT", "/v1/workers/push", { signing_secret: api.signingSecret }],
    ["POST", "/v1/workers/pull/secrets", { name: "B", value: "x" }],
    ["POST", "/v1/workers/push/secrets", { type: "signing" }],
    ["POST", "/v1/workers/push/test", {}],
    ["POST", "/v1/workers/pull/lease", { secrets: true }],
  ];
  for (const [method, path, body] of calls) {
    const answer = await api.call(method, path, { body });
    assertEquals(
      [answer.status, answer.at("code")],
      [503, "secrets_unavailable"],
      `${method} ${path} ${JSON.stringify(body)}`,
    );
  }
  const others: readonly (readonly [string, string, unknown, number])[] = [
    ["PUT", "/v1/workers/push", { concurrency: 3 }, 200],
    ["POST", "/v1/workers/pull/secrets", { type: "credential" }, 201],
    ["POST", "/v1/workers/pull/lease", {}, 200],
    ["GET", "/v1/workers/push/secrets", undefined, 200],
    ["DELETE", "/v1/workers/pull/secrets/A", undefined, 204],
  ];
  for (const [method, path, body, status] of others) {
    const answer = await api.call(method, path, { body });
    assertEquals(answer.status, status, `${method} ${path}`);
  }
  await api.close();
});

Deno.test("a tenant that was given a new key sets its secrets anew and works again", async () => {
  const api = await open();
  await loseKey(api);
  const { dataKeys } = api.engine.parts.repositories;
  const lost = await dataKeys.get(api.tenant.id, "data");
  if (lost === undefined) throw new Error("there is no key");
  const step = planRewrap(lost, {
    masterKeys: MASTER_KEYS,
    replacesLost: true,
  });
  if (step.kind !== "replaced") throw new Error("it was not replaced");
  await api.write(
    dataKeys.update(lost, step.next),
    dataKeys.insert(step.kept),
  );
  const lease = { body: { secrets: true } };
  const path = "/v1/workers/pull/lease";
  assertEquals((await api.call("POST", path, lease)).status, 503);
  const set = await api.call("POST", "/v1/workers/pull/secrets", {
    body: { name: "A", value: "another value" },
  });
  assertEquals([set.status, set.at("secrets", 0, "version")], [201, 2]);
  assertEquals((await api.call("POST", path, lease)).status, 200);
  const rotated = await api.call("POST", "/v1/workers/push/secrets", {
    body: { type: "signing" },
  });
  assertEquals(rotated.status, 201);
  const worker = await api.engine.parts.repositories.workers
    .byAlias(api.tenant.id, "push");
  if (worker === undefined) throw new Error("no worker");
  assertEquals(await api.parts.vault.signing(worker), [
    rotated.textAt("secret"),
  ]);
  assertNotEquals(rotated.textAt("secret"), api.signingSecret);
  await api.close();
});
