import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { hashSecret, parseToken } from "../../access/credential_token.ts";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import {
  listMembers,
  peopleRoutes,
  readList,
} from "../users/testing/add_user.ts";

Deno.test("POST /v1/keys makes a key that works and is shown once", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", {
    body: { name: "ci", scopes: ["users:read", "tasks:read", "users:read"] },
  });
  assertEquals(made.status, 201);
  assertEquals(made.headers["cache-control"], "no-store");
  const key = made.textAt("key");
  const id = made.textAt("id");
  const token = parseToken(key);
  assertEquals(token?.id, id);
  assertEquals(
    made.headers["location"],
    `http://acme.${SERVICE_HOST}/api/v1/keys/${id}`,
  );
  assertEquals(made.at("scopes"), ["tasks:read", "users:read"]);
  assertEquals(made.at("role"), null);
  assertEquals((await api.call("GET", "/v1/users", { key })).status, 200);
  const lacking = await api.call("GET", "/v1/keys", { key });
  assertEquals([lacking.status, lacking.at("scope")], [403, "keys:read"]);
  const read = await api.call("GET", `/v1/keys/${id}`);
  assert(!read.text.includes(key.slice(20, 60)), "the secret is shown again");
  const list = await api.call("GET", "/v1/keys");
  assert(!list.text.includes(key.slice(20, 60)), "the secret is shown again");
  const stored = await api.parts.engine.parts.repositories.keys.get(
    api.tenant.id,
    id,
  );
  assertEquals(stored?.digest, hashSecret(token?.secret ?? ""));
  const log = await api.call("GET", "/v1/audit");
  assertEquals(log.at("data", 0, "action"), "key.created");
  assertEquals(log.at("data", 0, "target"), id);
  await api.close();
});

Deno.test("POST /v1/keys refuses what is no key", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const cases: readonly (readonly [unknown, string, string])[] = [
    [{}, "/role", "required"],
    [{ role: null, scopes: null }, "/role", "required"],
    [{ role: "viewer", scopes: ["tasks:read"] }, "/scopes", "excluded"],
    [{ scopes: [] }, "/scopes", "too_few"],
    [{ scopes: ["tasks:read", "task:write"] }, "/scopes/1", "unknown_scope"],
    [{ scopes: ["webhook:read"] }, "/scopes/0", "unknown_scope"],
    [{ scopes: ["events:read"] }, "/scopes/0", "unknown_scope"],
    [
      { role: "viewer", networks: ["10.0.0.1/8"] },
      "/networks/0",
      "bad_network",
    ],
    [
      { role: "viewer", expires_at: "2027-01-15T08:00:00Z" },
      "/expires_at",
      "too_small",
    ],
    [{ role: "viewer", expires_at: "tomorrow" }, "/expires_at", "bad_time"],
    [{ role: "viewer", made_by: "usr_1" }, "/made_by", "read_only"],
    [{ role: "viewer", expiry: "x" }, "/expiry", "unknown_field"],
  ];
  for (const [body, pointer, code] of cases) {
    const answer = await api.call("POST", "/v1/keys", { body });
    assertEquals(answer.status, 422, JSON.stringify(body));
    assertEquals(answer.at("errors", 0, "pointer"), pointer);
    assertEquals(answer.at("errors", 0, "code"), code);
  }
  await api.close();
});

Deno.test("an expired key and one from another network are not let in", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", {
    body: {
      role: "viewer",
      expires_at: "2027-01-15T09:00:00Z",
      networks: ["192.0.2.0/24", "2001:db8::/32", "192.0.2.0/24"],
    },
  });
  assertEquals(made.at("networks"), ["192.0.2.0/24", "2001:db8::/32"]);
  const key = made.textAt("key");
  const from = async (address: string): Promise<unknown> =>
    (await api.call("GET", "/v1/users", { key, address })).status;
  assertEquals(await from("192.0.2.7"), 200);
  assertEquals(await from("2001:db8::1"), 200);
  assertEquals(await from("198.51.100.1"), 403);
  api.clock.advance(3_600_000);
  const late = await api.call("GET", "/v1/users", { key });
  assertEquals([late.status, late.at("code")], [401, "token_expired"]);
  const rotated = await api.call(
    "POST",
    `/v1/keys/${made.textAt("id")}/rotate`,
  );
  assertEquals([rotated.status, rotated.at("code")], [409, "wrong_state"]);
  await api.close();
});

Deno.test("POST /v1/keys/:id/rotate ends the old key at once", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", {
    body: { name: "ci", role: "viewer", networks: ["192.0.2.0/24"] },
  });
  const path = `/v1/keys/${made.textAt("id")}`;
  const rotated = await api.call("POST", `${path}/rotate`);
  assertEquals(rotated.status, 201);
  assertNotEquals(rotated.at("id"), made.at("id"));
  assertEquals(rotated.at("name"), "ci");
  assertEquals(rotated.at("role"), "viewer");
  assertEquals(rotated.at("networks"), ["192.0.2.0/24"]);
  const tries = [made.textAt("key"), rotated.textAt("key")].map((key) =>
    api.call("GET", "/v1/users", { key })
  );
  const statuses = (await Promise.all(tries)).map(({ status }) => status);
  assertEquals(statuses, [401, 200]);
  assertEquals((await api.call("GET", path)).status, 404);
  assertEquals((await api.call("POST", `${path}/rotate`)).status, 404);
  await api.close();
});

Deno.test("POST /v1/keys/:id/rotate with an overlap lets both work until it ends", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", { body: { role: "viewer" } });
  const path = `/v1/keys/${made.textAt("id")}`;
  const rotated = await api.call("POST", `${path}/rotate`, {
    body: { overlap: "PT1H" },
  });
  const statuses = async (): Promise<readonly number[]> => {
    const tries = [made.textAt("key"), rotated.textAt("key")].map((key) =>
      api.call("GET", "/v1/users", { key })
    );
    return (await Promise.all(tries)).map(({ status }) => status);
  };
  assertEquals(await statuses(), [200, 200]);
  api.clock.advance(3_599_999);
  assertEquals(await statuses(), [200, 200]);
  api.clock.advance(1);
  assertEquals(await statuses(), [401, 200]);
  const tooLong = await api.call(
    "POST",
    `/v1/keys/${rotated.textAt("id")}/rotate`,
    { body: { overlap: "P8D" } },
  );
  assertEquals(tooLong.status, 422);
  await api.close();
});

Deno.test("an overlap never lengthens the life of the old key", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", {
    body: { role: "viewer", expires_at: "2027-01-15T08:10:00Z" },
  });
  const path = `/v1/keys/${made.textAt("id")}`;
  await api.call("POST", `${path}/rotate`, { body: { overlap: "PT1H" } });
  assertEquals(
    (await api.call("GET", path)).at("expires_at"),
    "2027-01-15T08:10:00.000Z",
  );
  await api.close();
});

Deno.test("a key that is rotated again does not pass its overlap's end on", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", {
    body: { role: "viewer", expires_at: "2027-03-01T00:00:00Z" },
  });
  const path = `/v1/keys/${made.textAt("id")}`;
  await api.call("POST", `${path}/rotate`, { body: { overlap: "PT1H" } });
  const again = await api.call("POST", `${path}/rotate`, {
    body: { overlap: "PT2H" },
  });
  assertEquals(again.at("expires_at"), "2027-03-01T00:00:00.000Z");
  assertEquals(
    (await api.call("GET", path)).at("expires_at"),
    "2027-01-15T09:00:00.000Z",
  );
  await api.close();
});

Deno.test("of two who rotate a key at once one succeeds", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", { body: { role: "viewer" } });
  const path = `/v1/keys/${made.textAt("id")}/rotate`;
  const answers = await Promise.all([
    api.call("POST", path),
    api.call("POST", path),
  ]);
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [201, 404]);
  await api.close();
});

Deno.test("a key ends at once, also where it is at hand", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/keys", { body: { role: "viewer" } });
  const key = made.textAt("key");
  assertEquals((await api.call("GET", "/v1/users", { key })).status, 200);
  const path = `/v1/keys/${made.textAt("id")}`;
  const stale = await api.call("DELETE", path, {
    headers: { "if-match": '"other"' },
  });
  assertEquals(stale.status, 412);
  assertEquals((await api.call("DELETE", path)).status, 204);
  assertEquals((await api.call("GET", "/v1/users", { key })).status, 401);
  assertEquals((await api.call("DELETE", path)).status, 404);
  await api.close();
});

Deno.test("POST /v1/keys with an Idempotency-Key makes one key and keeps no secret", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const call = {
    body: { role: "viewer" },
    headers: { "idempotency-key": "once" },
  };
  const first = await api.call("POST", "/v1/keys", call);
  const again = await api.call("POST", "/v1/keys", call);
  assertEquals(again.status, 201);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(again.at("id"), first.at("id"));
  assertEquals(again.at("key"), null);
  assertMatch(first.textAt("key"), /^dk_/);
  const list = await api.call("GET", "/v1/keys");
  assertEquals(readList(list.at("data")).length, 2);
  await api.close();
});

Deno.test("GET /v1/keys goes page by page and heeds If-None-Match", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  for (let count = 0; count < 4; count++) await api.addKey({ role: "viewer" });
  const first = await api.call("GET", "/v1/keys?limit=3");
  const rest = await api.call(
    "GET",
    `/v1/keys?limit=3&cursor=${first.textAt("next")}`,
  );
  const ids = [
    ...listMembers(first.at("data"), "id"),
    ...listMembers(rest.at("data"), "id"),
  ];
  assertEquals(new Set(ids).size, 5);
  const path = `/v1/keys/${ids[0]}`;
  const etag = (await api.call("GET", path)).headers["etag"] ?? "";
  const same = await api.call("GET", path, {
    headers: { "if-none-match": etag },
  });
  assertEquals(same.status, 304);
  await api.close();
});
