import { assertEquals, assertStringIncludes } from "@std/assert";
import type { User } from "../../domain/records.ts";
import { identityRecordId } from "../../engine/credential_records.ts";
import { openTestApi } from "../testing/test_api.ts";
import { addUser, peopleRoutes, readList } from "./testing/add_user.ts";

Deno.test("nobody gives a role with a scope they lack, nor touches who has it", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const admin = await api.addKey({ role: "admin" });
  const narrow = await api.addKey({ scopes: ["users:read", "users:write"] });
  const owner = await addUser(api, { role: "owner", status: "active" });
  const asks: readonly (readonly [string, string, unknown, number])[] = [
    [admin, "/v1/users", { email: "a@b.c", role: "owner" }, 403],
    [admin, "/v1/users", { email: "a@b.c", role: "admin" }, 201],
    [narrow, "/v1/users", { email: "d@b.c" }, 403],
  ];
  for (const [key, path, body, status] of asks) {
    const answer = await api.call("POST", path, { body, key });
    assertEquals(answer.status, status, answer.text);
  }
  for (const key of [admin, narrow]) {
    const change = await api.call("PUT", `/v1/users/${owner.id}`, {
      body: { email: "mine@b.c" },
      key,
    });
    assertEquals([change.status, change.at("code")], [403, "forbidden"]);
    const removal = await api.call("DELETE", `/v1/users/${owner.id}`, { key });
    assertEquals(removal.status, 403);
  }
  const viewer = await api.addKey({ role: "viewer" });
  const lacking = await api.call("POST", "/v1/users", {
    body: { email: "x@b.c" },
    key: viewer,
  });
  assertEquals([lacking.status, lacking.at("scope")], [403, "users:write"]);
  await api.close();
});

Deno.test("nobody raises their own role, not with a key they made either", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { role: "admin", status: "active" });
  // The key belongs to an admin, although it has the rights of an owner.
  const key = await api.addKey({ role: "owner", madeBy: ada.id });
  const raised = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { role: "owner" },
    key,
  });
  assertEquals([raised.status, raised.at("code")], [403, "forbidden"]);
  assertStringIncludes(raised.text, "own role");
  const lowered = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { role: "member" },
    key,
  });
  assertEquals(lowered.status, 200);
  await api.close();
});

Deno.test("nobody shows more than they see", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const blind = await api.addKey({ role: "owner", payloads: false });
  const made = await api.call("POST", "/v1/users", {
    body: { email: "a@b.c" },
    key: blind,
  });
  assertEquals(made.at("payloads"), false);
  const shown = await api.call("POST", "/v1/users", {
    body: { email: "d@b.c", payloads: true },
    key: blind,
  });
  assertEquals(shown.status, 403);
  const path = `/v1/users/${made.textAt("id")}`;
  const raised = await api.call("PUT", path, {
    body: { payloads: true },
    key: blind,
  });
  assertEquals(raised.status, 403);
  const reset = await api.call("PUT", path, {
    body: { payloads: null, name: "x" },
    key: blind,
  });
  assertEquals([reset.status, reset.at("payloads")], [200, false]);
  const seen = await api.call("PUT", path, { body: { payloads: null } });
  assertEquals(seen.at("payloads"), true);
  await api.close();
});

Deno.test("the last active owner can neither be removed, lowered nor disabled", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { role: "owner", status: "active" });
  // Owners who are invited or disabled do not count.
  await addUser(api, { email: "i@b.c", role: "owner", status: "invited" });
  await addUser(api, { email: "d@b.c", role: "owner", status: "disabled" });
  const path = `/v1/users/${ada.id}`;
  const bodies = [
    { role: "admin" },
    { status: "disabled" },
    { role: null },
    { status: null },
  ];
  for (const body of bodies) {
    const answer = await api.call("PUT", path, { body });
    assertEquals([answer.status, answer.at("code")], [409, "last_owner"]);
  }
  assertEquals((await api.call("DELETE", path)).at("code"), "last_owner");
  assertEquals(
    (await api.call("PUT", path, { body: { name: "Ada" } })).status,
    200,
  );
  const bob = await addUser(api, {
    email: "bob@b.c",
    role: "owner",
    status: "active",
  });
  assertEquals((await api.call("DELETE", path)).status, 204);
  assertEquals(
    (await api.call("DELETE", `/v1/users/${bob.id}`)).at("code"),
    "last_owner",
  );
  await api.close();
});

Deno.test("of owners who are all removed or lowered at once one stays", async () => {
  for (let seed = 0; seed < 4; seed++) {
    const api = await openTestApi({ routes: peopleRoutes });
    const owners: User[] = [];
    for (let index = 0; index < 5; index++) {
      owners.push(
        await addUser(api, {
          email: `o${index}@b.c`,
          role: "owner",
          status: "active",
        }),
      );
    }
    const answers = await Promise.all(owners.map(({ id }, index) => {
      const path = `/v1/users/${id}`;
      switch ((index + seed) % 3) {
        case 0:
          return api.call("DELETE", path);
        case 1:
          return api.call("PUT", path, { body: { role: "viewer" } });
        default:
          return api.call("PATCH", path, { body: { status: "disabled" } });
      }
    }));
    const refused = answers.filter(({ status }) => status === 409);
    assertEquals(refused.length, 1, `seed ${seed}`);
    const left = await api.parts.engine.parts.repositories.users.all(
      api.tenant.id,
    );
    const active = left.filter(({ role, status }) =>
      role === "owner" && status === "active"
    );
    assertEquals(active.length, 1);
    await api.close();
  }
});

Deno.test("the plan's quota of users holds against many at once", async () => {
  const api = await openTestApi({ routes: peopleRoutes, limits: { users: 3 } });
  const answers = await Promise.all(
    Array.from(
      { length: 6 },
      (_, index) =>
        api.call("POST", "/v1/users", { body: { email: `u${index}@b.c` } }),
    ),
  );
  assertEquals(answers.filter(({ status }) => status === 201).length, 3);
  const over = answers.find(({ status }) => status === 403);
  assertEquals(over?.at("code"), "quota_exceeded");
  assertEquals([over?.at("limit"), over?.at("used")], [3, 3]);
  assertEquals(over?.at("plan"), "test");
  await api.close();
});

Deno.test("DELETE ends the user's keys at once and forgets its identity", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, {
    role: "admin",
    status: "active",
    identity: { issuer: "https://idp.test/", subject: "auth0|1" },
  });
  const recordId = identityRecordId("https://idp.test/", "auth0|1");
  await api.write({
    kind: "record",
    recordKind: "service",
    tenantId: api.tenant.id,
    id: recordId,
    expectedVersion: 0,
    next: {
      kind: "service",
      tenantId: api.tenant.id,
      id: recordId,
      version: 1,
      text: ada.id,
    },
  });
  const own = await api.addKey({ role: "viewer", madeBy: ada.id });
  const other = await api.addKey({ role: "viewer" });
  assertEquals((await api.call("GET", "/v1/users", { key: own })).status, 200);
  assertEquals((await api.call("DELETE", `/v1/users/${ada.id}`)).status, 204);
  assertEquals((await api.call("GET", "/v1/users", { key: own })).status, 401);
  assertEquals(
    (await api.call("GET", "/v1/users", { key: other })).status,
    200,
  );
  const { store } = api.parts.engine.parts;
  assertEquals(
    await store.record("service", api.tenant.id, recordId),
    undefined,
  );
  const log = await api.call("GET", "/v1/audit");
  assertEquals(readList(log.at("data", 0, "detail", "keys_ended")).length, 1);
  await api.close();
});

Deno.test("who is disabled loses their keys, who is lowered those that may more", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { role: "admin", status: "active" });
  const high = await api.addKey({ role: "admin", madeBy: ada.id });
  const low = await api.addKey({ role: "viewer", madeBy: ada.id });
  const blind = await api.addKey({
    role: "viewer",
    payloads: false,
    madeBy: ada.id,
  });
  const statuses = async (): Promise<readonly number[]> => {
    const answers = [high, low, blind].map((key) =>
      api.call("GET", "/v1/users", { key })
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  const path = `/v1/users/${ada.id}`;
  assertEquals(await statuses(), [200, 200, 200]);
  await api.call("PUT", path, { body: { role: "member" } });
  assertEquals(await statuses(), [401, 200, 200]);
  await api.call("PUT", path, { body: { payloads: false } });
  assertEquals(await statuses(), [401, 401, 200]);
  await api.call("PUT", path, { body: { status: "disabled" } });
  assertEquals(await statuses(), [401, 401, 401]);
  await api.close();
});
