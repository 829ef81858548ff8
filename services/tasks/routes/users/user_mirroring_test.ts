import { assert, assertEquals } from "@std/assert";
import { RecordingMirror } from "../../engine/testing/recording_mirror.ts";
import { openTestApi } from "../testing/test_api.ts";
import { addUser, peopleRoutes } from "./testing/add_user.ts";

Deno.test("users are mirrored after they are stored", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const made = await api.call("POST", "/v1/users", {
    body: { email: "ada@example.com", name: "Ada" },
  });
  assertEquals(made.headers["user-mirror"], "ok");
  const id = made.textAt("id");
  assertEquals(mirror.calls, [["create", {
    tenant: "acme",
    userId: id,
    email: "ada@example.com",
    name: "Ada",
    isBlocked: false,
  }]]);
  const path = `/v1/users/${id}`;
  await api.call("PUT", path, { body: { role: "member" } });
  await api.call("PUT", path, { body: { name: "A.", status: "disabled" } });
  const gone = await api.call("DELETE", path);
  assertEquals(gone.headers["user-mirror"], "ok");
  assertEquals(mirror.calls.slice(1), [
    ["update", "sub_1", { name: "A.", isBlocked: true }],
    ["remove", "sub_1"],
  ]);
  await api.close();
});

Deno.test("a mirror that fails changes nothing here and is tried again", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  mirror.next = { kind: "unavailable", reason: "the answer has status 503" };
  const made = await api.call("POST", "/v1/users", {
    body: { email: "ada@example.com" },
  });
  assertEquals([made.status, made.headers["user-mirror"]], [201, "failed"]);
  const log = await api.call("GET", "/v1/audit");
  assertEquals(log.at("data", 0, "action"), "user.mirror_failed");
  assertEquals(api.logger.listMessages("warning").length, 1);
  const path = `/v1/users/${made.textAt("id")}`;
  const changed = await api.call("PUT", path, { body: { name: "Ada" } });
  assertEquals(changed.headers["user-mirror"], "ok");
  assertEquals(mirror.verbs, ["create", "create"]);
  // The user was removed at the provider.
  mirror.next = { kind: "not_found" };
  const restored = await api.call("PUT", path, { body: { name: "A." } });
  assertEquals(restored.headers["user-mirror"], "ok");
  assertEquals(mirror.verbs.slice(2), [
    "update",
    "create",
  ]);
  mirror.next = { kind: "refused", reason: "no" };
  const gone = await api.call("DELETE", path);
  assertEquals([gone.status, gone.headers["user-mirror"]], [204, "failed"]);
  assertEquals((await api.call("GET", path)).status, 404);
  await api.close();
});

Deno.test("a user the provider has already is left alone there", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  mirror.next = { kind: "exists" };
  const made = await api.call("POST", "/v1/users", {
    body: { email: "ada@example.com" },
  });
  assertEquals(made.headers["user-mirror"], "exists");
  const gone = await api.call("DELETE", `/v1/users/${made.textAt("id")}`);
  assertEquals(gone.headers["user-mirror"], undefined);
  assertEquals(mirror.verbs, ["create"]);
  await api.close();
});

Deno.test("a user that is refused here is not mirrored", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({
    routes: peopleRoutes,
    mirror,
    limits: { users: 0 },
  });
  const over = await api.call("POST", "/v1/users", {
    body: { email: "a@b.c" },
  });
  assertEquals(over.status, 403);
  assertEquals(mirror.calls, []);
  await api.close();
});

Deno.test("a user who logged in on their own is not mirrored", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const identity = { issuer: "https://idp.test/", subject: "google|1" };
  const ada = await addUser(api, { status: "active", identity });
  const own = await api.call("PUT", `/v1/users/${ada.id}`, {
    body: { name: "Ada" },
  });
  assertEquals([own.status, own.headers["user-mirror"]], [200, undefined]);
  assertEquals(mirror.calls, []);
  // A mirrored user logged in by another account, and is gone at the provider.
  const made = await api.call("POST", "/v1/users", {
    body: { email: "bob@example.com" },
  });
  const { repositories } = api.engine.parts;
  const bob = await repositories.users.get(api.tenant.id, made.textAt("id"));
  assert(bob !== undefined);
  await api.write(
    repositories.users.update(bob, {
      ...bob,
      version: bob.version + 1,
      identity,
    }),
  );
  mirror.next = { kind: "not_found" };
  const changed = await api.call("PUT", `/v1/users/${bob.id}`, {
    body: { name: "Bob" },
  });
  assertEquals(changed.headers["user-mirror"], undefined);
  assertEquals(mirror.verbs, ["create", "update"]);
  await api.close();
});
