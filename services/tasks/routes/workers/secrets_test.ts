import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import { workerRoutes } from "./worker_routes.ts";

const PATH = "/v1/workers/mailer/secrets";
const DAY_MS = 86_400_000;

Deno.test("POST /v1/workers/:id/secrets keeps values sealed and tells names and versions", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const added = await api.call("POST", PATH, {
    body: { secrets: { API_KEY: "sesame-sesame", OTHER: "other-value" } },
  });
  assertEquals(added.status, 201);
  const nowText = new Date(api.clock.nowMs()).toISOString();
  const entry = (name: string, version: number): unknown => ({
    type: "value",
    name,
    version,
    created_at: nowText,
    updated_at: nowText,
  });
  assertEquals(added.json, {
    type: "value",
    secrets: [entry("API_KEY", 1), entry("OTHER", 1)],
  });
  assertEquals(added.text.includes("sesame"), false);
  const { repositories } = api.engine.parts;
  const stored = await repositories.secrets.all(worker.tenantId, worker.id);
  assertEquals(JSON.stringify(stored).includes("sesame"), false);
  const opened = await api.parts.vault.open(worker.tenantId, worker.id);
  assertEquals(opened.values.get("API_KEY"), "sesame-sesame");
  api.clock.advance(1_000);
  const again = await api.call("POST", PATH, {
    body: { name: "API_KEY", value: "new-value-here" },
  });
  assertEquals(again.at("secrets", 0, "version"), 2);
  assertEquals(again.at("secrets", 0, "created_at"), nowText);
  const renewed = await api.parts.vault.open(worker.tenantId, worker.id);
  assertEquals(renewed.values.get("API_KEY"), "new-value-here");
  const list = await api.call("GET", PATH);
  assertEquals(
    (list.at("data") as { name: string; version: number }[]).map((one) => [
      one.name,
      one.version,
    ]),
    [["API_KEY", 2], ["OTHER", 1]],
  );
  assertEquals(list.text.includes("value-here"), false);
  const audit = await api.store.audit({ tenantId: api.tenant.id, limit: 10 });
  assertEquals(audit.map(({ action }) => action), [
    "secret.changed",
    "secret.changed",
  ]);
  assertEquals(JSON.stringify(audit).includes("sesame"), false);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets refuses what is no secret", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const cases: [unknown, string, string][] = [
    [{ name: "lower", value: "x" }, "/name", "bad_name"],
    [{ name: "A" }, "/value", "missing"],
    [{ name: "A", value: "" }, "/value", "empty"],
    [{ name: "A", value: "x".repeat(16_385) }, "/value", "too_long"],
    [{ type: "credentials" }, "/type", "unknown_type"],
    [{ type: "signing", name: "A" }, "/name", "not_allowed"],
    [{ secrets: {} }, "/secrets", "empty"],
    [
      { type: "credential", expires_at: "2001-01-01T00:00:00Z" },
      "/expires_at",
      "past",
    ],
    [[], "", "wrong_type"],
  ];
  for (const [body, pointer, code] of cases) {
    const answer = await api.call("POST", PATH, { body });
    assertEquals(answer.status, 422, answer.text);
    assertEquals(answer.at("errors", 0, "pointer"), pointer);
    assertEquals(answer.at("errors", 0, "code"), code);
  }
  const missing = await api.call("POST", "/v1/workers/none/secrets");
  assertEquals(missing.status, 404);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets keeps to 100 names, also when many come at once", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const createSecrets = (prefix: string): unknown => ({
    secrets: Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`${prefix}_${index}`, "x"]),
    ),
  });
  const answers = await Promise.all([
    api.call("POST", PATH, { body: createSecrets("A") }),
    api.call("POST", PATH, { body: createSecrets("B") }),
  ]);
  assertEquals(answers.map(({ status }) => status).sort(), [201, 422]);
  const { secrets } = api.engine.parts.repositories;
  assertEquals((await secrets.all(worker.tenantId, worker.id)).length, 60);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets takes a hundred of the longest values", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const value = "é".repeat(8_192);
  const answer = await api.call("POST", PATH, {
    body: {
      secrets: Object.fromEntries(
        Array.from({ length: 100 }, (_, index) => [`N${index}`, value]),
      ),
    },
  });
  assertEquals(answer.status, 201);
  const more = await api.call("POST", PATH, {
    body: { name: "N100", value: "x" },
  });
  assertEquals(more.status, 422);
  assertEquals(more.at("errors", 0, "code"), "too_many");
  const same = await api.call("POST", PATH, {
    body: { name: "N99", value: "x" },
  });
  assertEquals(same.status, 201);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets mints a credential that opens the worker until it is revoked", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const minted = await api.call("POST", PATH);
  assertEquals(minted.status, 201);
  assertEquals(minted.headers["cache-control"], "no-store");
  const id = minted.textAt("id");
  assertEquals(minted.textAt("key"), `acme:${id}`);
  assertStringIncludes(minted.textAt("secret"), id);
  const stored = await api.engine.parts.repositories.credentials
    .get(worker.tenantId, id);
  assertEquals(stored?.workerId, worker.id);
  assertEquals(
    JSON.stringify(stored).includes(minted.textAt("secret").slice(20)),
    false,
  );
  const list = await api.call("GET", PATH);
  assertEquals(list.at("data", 0), {
    type: "credential",
    id,
    name: null,
    secrets: true,
    created_at: new Date(api.clock.nowMs()).toISOString(),
    expires_at: null,
    last_used_at: null,
  });
  // The credential is cached now, and must not work once it is revoked.
  const probe = { key: minted.textAt("secret") };
  assertEquals((await api.call("GET", PATH, probe)).status, 403);
  assertEquals((await api.call("DELETE", `${PATH}/${id}`)).status, 204);
  assertEquals((await api.call("GET", PATH, probe)).status, 401);
  assertEquals((await api.call("DELETE", `${PATH}/${id}`)).status, 404);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets names and ends credentials, and replaces spent ones", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const expiresAt = new Date(api.clock.nowMs() + 60_000).toISOString();
  const mint = (): ReturnType<typeof api.call> =>
    api.call("POST", PATH, {
      body: { type: "credential", name: "CI", expires_at: expiresAt },
    });
  const first = await mint();
  assertEquals(first.at("name"), "CI");
  assertEquals(first.at("expires_at"), expiresAt);
  for (let count = 1; count < 100; count++) await mint();
  const over = await mint();
  assertEquals(over.status, 422);
  assertEquals(over.at("errors", 0, "code"), "too_many");
  api.clock.advance(60_000);
  const key = { key: first.textAt("secret") };
  assertEquals((await api.call("GET", PATH, key)).at("code"), "token_expired");
  const fresh = await api.call("POST", PATH, { body: { type: "credential" } });
  assertEquals(fresh.status, 201);
  const list = await api.call("GET", PATH);
  assertEquals((list.at("data") as unknown[]).length, 1);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets shows a secret once, also to a key that is used twice", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  for (const type of ["credential", "signing"]) {
    const call = { body: { type }, headers: { "idempotency-key": type } };
    const first = await api.call("POST", PATH, call);
    const again = await api.call("POST", PATH, call);
    assertNotEquals(first.at("secret"), null);
    assertEquals(again.json, {
      ...first.json as Record<string, unknown>,
      secret: null,
    });
  }
  const list = await api.call("GET", PATH);
  assertEquals((list.at("data") as unknown[]).length, 2);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets rotates the signing secret; the old one signs for a day", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made = await api.call("POST", "/v1/workers", {
    body: { name: "mailer", url: "https://a.example.com/" },
  });
  const rotated = await api.call("POST", PATH, { body: { type: "signing" } });
  assertEquals(rotated.status, 201);
  assertMatch(rotated.textAt("secret"), /^whsec_/);
  assertEquals(rotated.at("number"), 2);
  const endsAtMs = api.clock.nowMs() + DAY_MS;
  assertEquals(rotated.at("replaced"), [{
    type: "signing",
    number: 1,
    expires_at: new Date(endsAtMs).toISOString(),
  }]);
  const texts = async (): Promise<readonly string[]> => {
    const worker = await api.engine.parts.workers
      .get(api.tenant.id, made.textAt("id"));
    if (worker === undefined) throw new Error("no worker");
    return await api.parts.vault.signing(worker);
  };
  const old = made.textAt("signing_secret");
  assertEquals(await texts(), [rotated.textAt("secret"), old]);
  api.clock.advance(DAY_MS - 1);
  assertEquals(await texts(), [rotated.textAt("secret"), old]);
  api.clock.advance(1);
  assertEquals(await texts(), [rotated.textAt("secret")]);
  const list = await api.call("GET", PATH);
  assertEquals(list.at("data"), [
    { type: "signing", number: 2, expires_at: null },
  ]);
  const third = await api.call("POST", PATH, { body: { type: "signing" } });
  assertEquals(third.at("number"), 3);
  assertEquals(third.at("replaced", 0, "number"), 2);
  assertEquals(third.at("replaced", 1), undefined);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets bounds how many secrets sign at once", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const rotate = (): ReturnType<typeof api.call> =>
    api.call("POST", PATH, { body: { type: "signing" } });
  for (let count = 0; count < 8; count++) {
    assertEquals((await rotate()).status, 201);
  }
  assertEquals((await rotate()).at("code"), "wrong_state");
  api.clock.advance(DAY_MS);
  assertEquals((await rotate()).status, 201);
  await api.close();
});

Deno.test("DELETE /v1/workers/:id/secrets/:name removes the worker's own alone", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  await api.addWorker({ name: "other" });
  const other = "/v1/workers/other/secrets";
  await api.call("POST", other, { body: { name: "A", value: "x" } });
  const minted = await api.call("POST", other);
  assertEquals((await api.call("DELETE", `${PATH}/A`)).status, 404);
  const id = minted.textAt("id");
  assertEquals((await api.call("DELETE", `${PATH}/${id}`)).status, 404);
  assertEquals((await api.call("DELETE", `${PATH}/a%2Fb`)).status, 404);
  assertEquals((await api.call("DELETE", `${other}/A`)).status, 204);
  assertEquals((await api.call("DELETE", `${other}/A`)).status, 404);
  await api.close();
});

Deno.test("the routes of secrets keep to their tenant", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  await api.call("POST", PATH, { body: { name: "A", value: "x" } });
  const other = await api.addTenant("globex");
  const elsewhere = { key: other.ownerKey, host: `globex.${SERVICE_HOST}` };
  const path = `/v1/workers/${worker.id}/secrets`;
  for (
    const [method, target] of [
      ["GET", path],
      ["POST", path],
      ["DELETE", `${path}/A`],
    ] as const
  ) {
    const answer = await api.call(method, target, elsewhere);
    assertEquals(answer.status, 404, `${method} ${target}`);
  }
  await api.close();
});

Deno.test("the routes of secrets need a master key for what is sealed, and for nothing else", async () => {
  const api = await openTestApi({ routes: workerRoutes, hasMasterKey: false });
  await api.addWorker();
  for (const body of [{ name: "A", value: "x" }, { type: "signing" }]) {
    const answer = await api.call("POST", PATH, { body });
    assertEquals(answer.status, 503);
    assertEquals(answer.at("code"), "secrets_unavailable");
  }
  const minted = await api.call("POST", PATH);
  assertEquals(minted.status, 201);
  assertEquals((await api.call("GET", PATH)).status, 200);
  const id = minted.textAt("id");
  assertEquals((await api.call("DELETE", `${PATH}/${id}`)).status, 204);
  await api.close();
});

Deno.test("POST /v1/workers/:id/secrets makes no credential that may more than who makes it", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const blind = await api.addKey({ role: "admin", payloads: false });
  for (
    const body of [
      undefined,
      { type: "credential" },
      { type: "credential", secrets: false },
    ]
  ) {
    const call = { key: blind, ...(body === undefined ? {} : { body }) };
    const answer = await api.call("POST", PATH, call);
    assertEquals([answer.status, answer.at("code")], [403, "forbidden"]);
  }
  // The caller may set secrets whose value it provides.
  for (const body of [{ name: "A", value: "x" }, { type: "signing" }]) {
    const answer = await api.call("POST", PATH, { key: blind, body });
    assertEquals(answer.status, 201);
  }
  const idle = await api.addKey({ scopes: ["secrets:write"] });
  const lacking = await api.call("POST", PATH, { key: idle });
  assertEquals([lacking.status, lacking.at("scope")], [403, "leases:write"]);
  const sighted = await api.addKey({ role: "admin", payloads: true });
  const minted = await api.call("POST", PATH, { key: sighted });
  assertEquals(minted.status, 201);
  await api.close();
});
