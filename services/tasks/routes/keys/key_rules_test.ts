import { assertEquals } from "@std/assert";
import { openTestApi, type TestApi } from "../testing/test_api.ts";
import {
  addUser,
  listMembers,
  peopleRoutes,
  readList,
} from "../users/testing/add_user.ts";

const ISSUER = "https://idp.test/";

Deno.test("nobody makes, renews or ends a key that may more than they may", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const admin = await api.addKey({ role: "admin" });
  const narrow = await api.addKey({ scopes: ["keys:*", "tasks:read"] });
  const blind = await api.addKey({ role: "admin", payloads: false });
  const asks: readonly (readonly [string, unknown, number])[] = [
    [admin, { role: "owner" }, 403],
    [admin, { scopes: ["account:write"] }, 403],
    [admin, { role: "admin" }, 201],
    [narrow, { role: "viewer" }, 403],
    [narrow, { scopes: ["keys:write", "tasks:read"] }, 201],
    [blind, { role: "viewer", payloads: true }, 403],
    [blind, { role: "viewer" }, 201],
  ];
  for (const [key, body, status] of asks) {
    const answer = await api.call("POST", "/v1/keys", { body, key });
    assertEquals(answer.status, status, answer.text);
  }
  const ownerKeyId = api.ownerKey.slice(0, 19);
  for (const key of [admin, narrow]) {
    const path = `/v1/keys/${ownerKeyId}`;
    const rotated = await api.call("POST", `${path}/rotate`, { key });
    assertEquals([rotated.status, rotated.at("code")], [403, "forbidden"]);
    assertEquals((await api.call("DELETE", path, { key })).status, 403);
  }
  const seeing = (await api.call("POST", "/v1/keys", {
    body: { role: "viewer" },
  })).textAt("id");
  const stolen = await api.call("POST", `/v1/keys/${seeing}/rotate`, {
    key: blind,
  });
  assertEquals(stolen.status, 403);
  await api.close();
});

Deno.test("a key belongs to the user behind who makes it, over several keys", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { role: "admin", status: "active" });
  const first = await api.addKey({ role: "admin", madeBy: ada.id });
  const second = await api.call("POST", "/v1/keys", {
    body: { role: "admin" },
    key: first,
  });
  assertEquals(second.at("made_by"), ada.id);
  const third = await api.call("POST", "/v1/keys", {
    body: { role: "viewer" },
    key: second.textAt("key"),
  });
  assertEquals(third.at("made_by"), ada.id);
  await api.call("DELETE", `/v1/users/${ada.id}`);
  for (const key of [first, second.textAt("key"), third.textAt("key")]) {
    assertEquals((await api.call("GET", "/v1/users", { key })).status, 401);
  }
  await api.close();
});

Deno.test("a key that is made while its user is removed does not outlive it", async () => {
  for (let round = 0; round < 6; round++) {
    const api = await openTestApi({ routes: peopleRoutes });
    const ada = await addUser(api, { role: "admin", status: "active" });
    const key = await api.addKey({ role: "admin", madeBy: ada.id });
    const make = (): ReturnType<TestApi["call"]> =>
      api.call("POST", "/v1/keys", { body: { role: "admin" }, key });
    const remove = (): ReturnType<TestApi["call"]> =>
      api.call("DELETE", `/v1/users/${ada.id}`);
    await Promise.all([
      ...Array.from({ length: round }, make),
      remove(),
      make(),
      make(),
    ]);
    const left = await api.parts.engine.parts.repositories.keys.all(
      api.tenant.id,
    );
    assertEquals(left.filter(({ madeBy }) => madeBy === ada.id), []);
    await api.close();
  }
});

Deno.test("a key of a lowered user cannot make one that may more than the user", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { role: "member", status: "active" });
  const key = await api.addKey({ role: "admin", madeBy: ada.id });
  const over = await api.call("POST", "/v1/keys", {
    body: { role: "admin" },
    key,
  });
  assertEquals(over.status, 403);
  await api.close();
});

Deno.test("the plan's quota of keys holds against many at once", async () => {
  const api = await openTestApi({ routes: peopleRoutes, limits: { keys: 3 } });
  const answers = await Promise.all(
    Array.from(
      { length: 5 },
      () => api.call("POST", "/v1/keys", { body: { role: "viewer" } }),
    ),
  );
  assertEquals(answers.filter(({ status }) => status === 201).length, 2);
  const over = answers.find(({ status }) => status === 403);
  assertEquals(over?.at("code"), "quota_exceeded");
  await api.close();
});

Deno.test("keys that have ended count for no quota, and make room", async () => {
  const api = await openTestApi({ routes: peopleRoutes, limits: { keys: 2 } });
  const body = { role: "viewer", expires_at: "2027-01-15T09:00:00Z" };
  const first = await api.call("POST", "/v1/keys", { body });
  assertEquals(first.status, 201);
  const over = await api.call("POST", "/v1/keys", { body: { role: "viewer" } });
  assertEquals([over.status, over.at("used")], [403, 2]);
  api.clock.advance(3_600_000);
  const made = await api.call("POST", "/v1/keys", { body: { role: "viewer" } });
  assertEquals(made.status, 201);
  const gone = await api.call("GET", `/v1/keys/${first.textAt("id")}`);
  assertEquals(gone.status, 404);
  await api.close();
});

Deno.test("a full quota lets keys be rotated, but not multiply", async () => {
  const api = await openTestApi({ routes: peopleRoutes, limits: { keys: 2 } });
  const made = await api.call("POST", "/v1/keys", { body: { role: "viewer" } });
  const rotate = (id: string, overlap: string) =>
    api.call("POST", `/v1/keys/${id}/rotate`, { body: { overlap } });
  const first = await rotate(made.textAt("id"), "P1D");
  assertEquals(first.status, 201);
  // The first replacement took the place of the key.
  const twice = await rotate(made.textAt("id"), "P1D");
  assertEquals([twice.status, twice.at("code")], [403, "quota_exceeded"]);
  assertEquals((await rotate(made.textAt("id"), "PT0S")).status, 403);
  const second = await rotate(first.textAt("id"), "P1D");
  assertEquals(second.status, 201);
  const third = await rotate(second.textAt("id"), "P1D");
  assertEquals([third.status, third.at("used")], [403, 2]);
  assertEquals((await rotate(second.textAt("id"), "PT0S")).status, 201);
  api.clock.advance(86_400_000);
  const list = await api.call("GET", "/v1/keys");
  assertEquals(readList(list.at("data")).length, 4);
  const ends = listMembers(list.at("data"), "expires_at");
  assertEquals(ends.filter((end) => end !== null).length, 2);
  await api.close();
});

Deno.test("the last key of an owner stays where there is no other way in", async () => {
  const api = await openTestApi({ routes: peopleRoutes, issuer: ISSUER });
  const path = `/v1/keys/${api.ownerKey.slice(0, 19)}`;
  const alone = await api.call("DELETE", path);
  assertEquals([alone.status, alone.at("code")], [409, "last_owner"]);
  // Rotating the key is no way around the rule.
  const rotated = await api.call("POST", `${path}/rotate`);
  const key = rotated.textAt("key");
  const renewed = `/v1/keys/${rotated.textAt("id")}`;
  assertEquals((await api.call("DELETE", renewed, { key })).status, 409);
  // An owner who has never logged in may never do so.
  await addUser(api, { role: "owner", status: "active" });
  // Tokens of this user's issuer are no longer accepted.
  await addUser(api, {
    email: "bob@example.com",
    role: "owner",
    status: "active",
    identity: { issuer: "https://old.test/", subject: "1" },
  });
  assertEquals((await api.call("DELETE", renewed, { key })).status, 409);
  await addUser(api, {
    email: "eve@example.com",
    role: "owner",
    status: "active",
    identity: { issuer: ISSUER, subject: "1" },
  });
  assertEquals((await api.call("DELETE", renewed, { key })).status, 204);
  await api.close();
});

Deno.test("an owner who has logged in is no way in where no tokens are taken", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  await addUser(api, {
    role: "owner",
    status: "active",
    identity: { issuer: ISSUER, subject: "1" },
  });
  const path = `/v1/keys/${api.ownerKey.slice(0, 19)}`;
  assertEquals((await api.call("DELETE", path)).at("code"), "last_owner");
  await api.close();
});

Deno.test("a key of an owner that ends soon does not stand for one that lasts", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const path = `/v1/keys/${api.ownerKey.slice(0, 19)}`;
  const nowMs = api.clock.nowMs();
  const soon = await api.addKey({ role: "owner", expiresAtMs: nowMs + 3_000 });
  assertEquals((await api.call("DELETE", path)).at("code"), "last_owner");
  // The key was rotated away, so it ends soon as well.
  await api.addKey({ role: "owner", replacedUntilMs: nowMs + 3_000 });
  assertEquals((await api.call("DELETE", path)).at("code"), "last_owner");
  const shortLived = `/v1/keys/${soon.slice(0, 19)}`;
  assertEquals((await api.call("DELETE", shortLived)).status, 204);
  const key = await api.addKey({
    role: "owner",
    expiresAtMs: nowMs + 8 * 86_400_000,
  });
  assertEquals((await api.call("DELETE", path, { key })).status, 204);
  await api.close();
});

Deno.test("of two owner keys that are ended at once one stays", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const other = await api.addKey({ role: "owner" });
  const answers = await Promise.all([
    api.call("DELETE", `/v1/keys/${api.ownerKey.slice(0, 19)}`),
    api.call("DELETE", `/v1/keys/${other.slice(0, 19)}`),
  ]);
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [204, 409]);
  await api.close();
});

Deno.test("keys of another tenant are as ones that never were", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const other = await api.addTenant("globex");
  const path = `/v1/keys/${other.ownerKey.slice(0, 19)}`;
  assertEquals((await api.call("GET", path)).status, 404);
  assertEquals((await api.call("DELETE", path)).status, 404);
  assertEquals((await api.call("POST", `${path}/rotate`)).status, 404);
  const list = await api.call("GET", "/v1/keys");
  assertEquals(listMembers(list.at("data"), "id"), [api.ownerKey.slice(0, 19)]);
  await api.close();
});
