import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import {
  addUser,
  listMembers,
  peopleRoutes,
  readList,
} from "./testing/add_user.ts";

Deno.test("POST /v1/users adds a user that can be read, listed and removed", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/users", {
    body: { email: "Ada@Example.com", name: "Ada", role: "admin" },
  });
  assertEquals(made.status, 201);
  const id = made.textAt("id");
  assertMatch(id, /^usr_[0-9a-z]{26}$/);
  assertEquals(
    made.headers["location"],
    `http://acme.${SERVICE_HOST}/api/v1/users/${id}`,
  );
  assertEquals(made.json, {
    id,
    email: "Ada@Example.com",
    name: "Ada",
    role: "admin",
    status: "invited",
    payloads: true,
    idp_subject: null,
    created_at: "2027-01-15T08:00:00.000Z",
    updated_at: "2027-01-15T08:00:00.000Z",
    last_seen_at: null,
  });
  const read = await api.call("GET", `/v1/users/${id}`);
  assertEquals(read.json, made.json);
  assertEquals(read.headers["etag"], made.headers["etag"]);
  const list = await api.call("GET", "/v1/users");
  assertEquals(list.json, { data: [made.json], next: null });
  assertEquals((await api.call("DELETE", `/v1/users/${id}`)).status, 204);
  assertEquals((await api.call("GET", `/v1/users/${id}`)).status, 404);
  assertEquals((await api.call("DELETE", `/v1/users/${id}`)).status, 404);
  const log = await api.call("GET", "/v1/audit");
  assertEquals(log.at("data", 0, "action"), "user.removed");
  assertEquals(log.at("data", 0, "target"), id);
  assertEquals(log.at("data", 1, "action"), "user.created");
  assert(!log.text.includes("Example.com"), "the log names a person");
  await api.close();
});

Deno.test("POST /v1/users takes the least role unless told otherwise", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const made = await api.call("POST", "/v1/users", {
    body: { email: "ada@example.com" },
  });
  assertEquals(made.at("role"), "viewer");
  assertEquals(made.at("name"), "");
  await api.close();
});

Deno.test("POST /v1/users refuses what is no user", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const cases: readonly (readonly [unknown, string, string])[] = [
    [{}, "/email", "required"],
    [{ email: "ada" }, "/email", "wrong_form"],
    [{ email: "ada@exa mple.com" }, "/email", "wrong_form"],
    // The Kelvin sign becomes "k" in lower case.
    [{ email: "mi\u212Ae@example.com" }, "/email", "wrong_form"],
    [{ email: "a@b", name: "x\ny" }, "/name", "wrong_form"],
    [{ email: "a@b", role: "root" }, "/role", "unknown_choice"],
    [{ email: "a@b", status: "gone" }, "/status", "unknown_choice"],
    [{ email: "a@b", payload: false }, "/payload", "unknown_field"],
    [{ email: "a@b", id: "usr_1" }, "/id", "read_only"],
  ];
  for (const [body, pointer, code] of cases) {
    const answer = await api.call("POST", "/v1/users", { body });
    assertEquals(answer.status, 422, JSON.stringify(body));
    assertEquals(answer.at("errors", 0, "pointer"), pointer);
    assertEquals(answer.at("errors", 0, "code"), code);
  }
  assertEquals((await api.call("GET", "/v1/users")).at("data"), []);
  await api.close();
});

Deno.test("email addresses are unique in a tenant whatever their case", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const other = await api.addTenant("globex");
  const ada = await addUser(api, { email: "ada@example.com" });
  const taken = await api.call("POST", "/v1/users", {
    body: { email: "ADA@EXAMPLE.COM" },
  });
  assertEquals([taken.status, taken.at("code")], [409, "email_taken"]);
  const elsewhere = await api.call("POST", "/v1/users", {
    body: { email: "ada@example.com" },
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(elsewhere.status, 201);
  const bob = await addUser(api, { email: "bob@example.com" });
  const renamed = await api.call("PUT", `/v1/users/${bob.id}`, {
    body: { email: "aDa@example.com" },
  });
  assertEquals([renamed.status, renamed.at("code")], [409, "email_taken"]);
  const recased = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { email: "Ada@example.com" },
  });
  assertEquals(recased.at("email"), "Ada@example.com");
  await api.close();
});

Deno.test("of many who add the same address at once one succeeds", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      api.call("POST", "/v1/users", {
        body: { email: index % 2 === 0 ? "a@b.c" : "A@b.C" },
      })),
  );
  assertEquals(answers.filter(({ status }) => status === 201).length, 1);
  assertEquals(answers.filter(({ status }) => status === 409).length, 7);
  await api.close();
});

Deno.test("a user of another tenant is as one that never was", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const other = await api.addTenant("globex");
  const made = await api.call("POST", "/v1/users", {
    body: { email: "ada@example.com" },
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
    const body = method === "GET" || method === "DELETE"
      ? {}
      : { body: { name: "x" } };
    const foreign = await api.call(
      method,
      `/v1/users/${made.textAt("id")}`,
      body,
    );
    const unknown = await api.call(method, "/v1/users/usr_nobody", body);
    assertEquals(foreign.status, 404);
    const sameButRequest = (text: string): string =>
      text.replaceAll(/req_\w+/g, "");
    assertEquals(sameButRequest(foreign.text), sameButRequest(unknown.text));
  }
  await api.close();
});

Deno.test("PUT changes what is given, null resets, read-only fields may come back", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { name: "Ada", role: "admin" });
  const read = await api.call("GET", `/v1/users/${ada.id}`);
  api.clock.advance(5_000);
  const whole = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { ...asObject(read.json), name: "Ada L." },
  });
  assertEquals(whole.status, 200);
  assertEquals(whole.at("name"), "Ada L.");
  assertEquals(whole.at("role"), "admin");
  assertEquals(whole.at("updated_at"), "2027-01-15T08:00:05.000Z");
  assertNotEquals(whole.headers["etag"], read.headers["etag"]);
  const reset = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { name: null, role: null },
  });
  assertEquals([reset.at("name"), reset.at("role")], ["", "viewer"]);
  const changed = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { created_at: "2020-01-01T00:00:00.000Z" },
  });
  assertEquals([changed.status, changed.at("code")], [422, "read_only"]);
  const required = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { email: null },
  });
  assertEquals(required.status, 422);
  await api.close();
});

Deno.test("PUT that changes nothing writes nothing", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { name: "Ada" });
  const before = await api.call("GET", "/v1/audit");
  const same = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { name: "Ada" },
  });
  assertEquals(same.status, 200);
  assertEquals((await api.call("GET", "/v1/audit")).json, before.json);
  await api.close();
});

Deno.test("PATCH takes a merge patch", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api, { name: "Ada" });
  for (const type of ["application/merge-patch+json", "application/json"]) {
    const answer = await api.call("PATCH", `/v1/users/${ada.id}`, {
      body: { name: type },
      headers: { "content-type": type },
    });
    assertEquals(answer.at("name"), type);
  }
  const other = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { name: "x" },
    headers: { "content-type": "application/merge-patch+json" },
  });
  assertEquals(other.status, 415);
  await api.close();
});

Deno.test("users heed If-Match and If-None-Match, and being seen changes no tag", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api);
  const path = `/v1/users/${ada.id}`;
  const etag = (await api.call("GET", path)).headers["etag"] ?? "";
  const { users } = api.parts.engine.parts.repositories;
  const stored = await users.get(api.tenant.id, ada.id);
  assert(stored !== undefined);
  await api.write(users.update(stored, {
    ...stored,
    version: stored.version + 1,
    lastSeenAtMs: api.clock.nowMs(),
  }));
  const same = await api.call("GET", path, {
    headers: { "if-none-match": etag },
  });
  assertEquals(same.status, 304);
  const changed = await api.call("PUT", path, {
    body: { name: "Ada" },
    headers: { "if-match": etag },
  });
  assertEquals(changed.status, 200);
  const stale = await api.call("PUT", path, {
    body: { name: "Eve" },
    headers: { "if-match": etag },
  });
  assertEquals([stale.status, stale.at("code")], [412, "precondition_failed"]);
  const removal = await api.call("DELETE", path, {
    headers: { "if-match": etag },
  });
  assertEquals(removal.status, 412);
  const broken = await api.call("DELETE", path, {
    headers: { "if-match": "5" },
  });
  assertEquals([broken.status, broken.at("code")], [400, "bad_header"]);
  await api.close();
});

Deno.test("POST /v1/users with an Idempotency-Key takes effect once", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const call = {
    body: { email: "ada@example.com" },
    headers: { "idempotency-key": "k1" },
  };
  const first = await api.call("POST", "/v1/users", call);
  const again = await api.call("POST", "/v1/users", call);
  assertEquals(first.status, 201);
  assertEquals([again.status, again.text], [201, first.text]);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(again.headers["location"], first.headers["location"]);
  const other = await api.call("POST", "/v1/users", {
    ...call,
    body: { email: "eve@example.com" },
  });
  assertEquals(other.at("code"), "idempotency_key_reused");
  const list = await api.call("GET", "/v1/users");
  assertEquals(readList(list.at("data")).length, 1);
  await api.close();
});

Deno.test("GET /v1/users gives each user once, page by page", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const other = await api.addTenant("globex");
  const ids: string[] = [];
  for (let index = 0; index < 7; index++) {
    ids.push((await addUser(api, { email: `u${index}@b.c` })).id);
  }
  const seen: unknown[] = [];
  let path = "/v1/users?limit=3";
  let cursor = "";
  for (let pages = 1; pages <= 3; pages++) {
    const page = await api.call("GET", path);
    seen.push(...listMembers(page.at("data"), "id"));
    if (pages === 3) {
      assertEquals(page.at("next"), null);
      assertEquals(page.headers["link"], undefined);
      break;
    }
    cursor = page.textAt("next");
    assertStringIncludes(page.headers["link"] ?? "", 'rel="next"');
    path = `/v1/users?limit=3&cursor=${cursor}`;
  }
  assertEquals(seen, [...ids].sort());
  const foreign = await api.call("GET", `/v1/users?cursor=${cursor}`, {
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals([foreign.status, foreign.at("code")], [422, "bad_cursor"]);
  const elsewhere = await api.call("GET", `/v1/keys?cursor=${cursor}`);
  assertEquals(elsewhere.at("code"), "bad_cursor");
  for (const query of ["limit=0", "limit=201", "limit=x", "page=2"]) {
    assertEquals((await api.call("GET", `/v1/users?${query}`)).status, 422);
  }
  await api.close();
});

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  assert(typeof value === "object" && value !== null);
  return { ...value };
}
