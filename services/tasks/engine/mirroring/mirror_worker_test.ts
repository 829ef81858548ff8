import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import type { User } from "../../domain/records.ts";
import { openTestApi, type TestApi } from "../../routes/testing/test_api.ts";
import {
  addUser,
  listOf,
  peopleRoutes,
} from "../../routes/users/testing/add_user.ts";
import { UserMirroring } from "../../routes/users/user_mirroring.ts";
import { type MirrorSettling, MirrorWorker } from "./mirror_worker.ts";
import { AWAY, RecordingMirror } from "./testing/recording_mirror.ts";

Deno.test("MirrorWorker makes up for what a mirror did not do, once a minute", async () => {
  const { api, mirror, worker } = await open();
  const made = await addUsers(api, 1);
  const path = `/v1/users/${made[0]}`;
  mirror.always = AWAY;
  await api.call("PUT", path, { body: { status: "disabled" } });
  const told = api.logger.messagesOf("warning").length;
  worker.start();
  await waitUntil(() => mirror.calls.length === 3, { what: "the first try" });
  await waitUntil(
    () => api.logger.messagesOf("warning").length === told + 1,
    { what: "the line in the log" },
  );
  mirror.always = undefined;
  await api.clock.advanceAsync(60_000);
  await waitUntil(
    () => api.logger.messages.includes("Made up for what was not mirrored"),
    { what: "the change at the mirror" },
  );
  assertEquals(mirror.calls.at(-1), ["update", "sub_1", { isBlocked: true }]);
  const log = await api.call("GET", "/v1/audit");
  const actions = listOf(log.at("data")).map((one) =>
    Reflect.get(one, "action")
  );
  assertEquals(actions.slice(0, 2), ["user.mirrored", "user.mirror_failed"]);
  await api.clock.advanceAsync(60_000);
  assertEquals(mirror.calls.length, 4);
  await worker.stop();
  await api.close();
});

Deno.test("MirrorWorker removes who was removed while the mirror was away", async () => {
  const { api, mirror, worker } = await open();
  const [id] = await addUsers(api, 1);
  mirror.next = AWAY;
  const gone = await api.call("DELETE", `/v1/users/${id}`);
  assertEquals([gone.status, gone.headers["user-mirror"]], [204, "failed"]);
  assertEquals(await worker.runOnce(), 1);
  assertEquals(mirror.calls.at(-1), ["remove", "sub_1"]);
  assertEquals(await worker.runOnce(), 0);
  await api.close();
});

Deno.test("MirrorWorker gives up early, and goes on behind what failed", async () => {
  const { api, mirror, worker } = await open();
  mirror.always = AWAY;
  await addUsers(api, 12);
  const calls = async (): Promise<readonly unknown[]> => {
    const before = mirror.calls.length;
    await worker.runOnce();
    return mirror.calls.slice(before).map(([, user]) =>
      Reflect.get(Object(user), "email")
    );
  };
  const all = [...await calls(), ...await calls(), ...await calls()];
  assertEquals(all.length, 12);
  assertEquals(new Set(all).size, 12);
  // An outage is logged once.
  const told = api.logger.messages.filter((text) =>
    text.includes("each minute")
  );
  assertEquals(told.length, 1);
  mirror.always = undefined;
  assertEquals(await worker.runOnce(), 12);
  await api.close();
});

async function open(): Promise<{
  readonly api: TestApi;
  readonly mirror: RecordingMirror;
  readonly worker: MirrorWorker;
}> {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const settling = api.parts.mirrorSettling;
  assert(settling !== undefined);
  const worker = new MirrorWorker({ settling, parts: api.engine.parts });
  return { api, mirror, worker };
}

async function addUsers(
  api: TestApi,
  count: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const made = await api.call("POST", "/v1/users", {
      body: { email: `u${index}@example.com` },
    });
    ids.push(made.textAt("id"));
  }
  return ids;
}

Deno.test("MirrorSettling.settle() sends a user again who is changed meanwhile", async () => {
  const { api, mirror, settling, ada, change } = await openSettling();
  await settling.settle(placeOf(ada));
  await change({ name: "First", status: "disabled" });
  mirror.meanwhile = () => change({ name: "Second" });
  assertEquals(await settling.settle(placeOf(ada)), { kind: "ok" });
  assertEquals(mirror.calls.slice(1), [
    ["update", "sub_1", { name: "First", isBlocked: true }],
    ["update", "sub_1", { name: "Second", isBlocked: true }],
  ]);
  assertEquals(await settling.settle(placeOf(ada)), { kind: "nothing" });
  await api.close();
});

Deno.test("MirrorSettling.settle() changes a user there who is changed while being added", async () => {
  const { api, mirror, settling, ada, change } = await openSettling();
  mirror.meanwhile = () => change({ status: "disabled" });
  assertEquals(await settling.settle(placeOf(ada)), { kind: "ok" });
  assertEquals(mirror.verbs, ["create", "update"]);
  const [, subject, sent] = mirror.calls.at(-1) ?? [];
  assertEquals(subject, "sub_1");
  assertEquals(Reflect.get(Object(sent), "isBlocked"), true);
  assertEquals(await settling.settle(placeOf(ada)), { kind: "nothing" });
  await api.close();
});

Deno.test("MirrorSettling.settle() removes a user there who is removed while being added", async () => {
  const { api, mirror, settling, ada, remove } = await openSettling();
  mirror.meanwhile = async () => {
    await remove();
    mirror.next = AWAY;
  };
  const first = await settling.settle(placeOf(ada));
  assertEquals(first.kind, "failed");
  assertEquals(await settling.settle(placeOf(ada)), { kind: "ok" });
  assertEquals(mirror.calls.slice(1), [
    ["remove", "sub_1"],
    ["remove", "sub_1"],
  ]);
  await api.close();
});

Deno.test("MirrorSettling.settle() does one thing after the other for a user", async () => {
  const { api, mirror, settling, ada } = await openSettling();
  const settled = await Promise.all([
    settling.settle(placeOf(ada)),
    settling.settle(placeOf(ada)),
  ]);
  assertEquals(settled, [{ kind: "ok" }, { kind: "nothing" }]);
  assertEquals(mirror.verbs, ["create"]);
  await api.close();
});

Deno.test("MirrorSettling.settle() adds nobody to the mirror for a tenant that closes", async () => {
  const { api, mirror, settling, ada } = await openSettling();
  const { tenants } = api.engine.parts.repositories;
  const tenant = await tenants.get("", api.tenant.id);
  assert(tenant !== undefined);
  const version = tenant.version + 1;
  await api.write(
    tenants.update(tenant, { ...tenant, version, status: "closing" }),
  );
  assertEquals(await settling.settle(placeOf(ada)), { kind: "ok" });
  assertEquals(mirror.calls, []);
  await api.close();
});

interface Setting {
  readonly api: TestApi;
  readonly mirror: RecordingMirror;
  readonly settling: MirrorSettling;
  /** A user who is not mirrored yet. */
  readonly ada: User;
  /** Stores a change, as a route does before it calls the mirror. */
  readonly change: (patch: Partial<User>) => Promise<void>;
  /** Removes the user in the store, as a route does. */
  readonly remove: () => Promise<void>;
}

async function openSettling(): Promise<Setting> {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const settling = api.parts.mirrorSettling;
  assert(settling !== undefined);
  const { users } = api.engine.parts.repositories;
  const mirroring = new UserMirroring(settling, api.engine.parts);
  const ada = await addUser(api);
  await api.write(...mirroring.insert(ada).writes);
  const current = async (): Promise<User> => {
    const user = await users.get(ada.tenantId, ada.id);
    assert(user !== undefined);
    return user;
  };
  return {
    api,
    mirror,
    settling,
    ada,
    async change(patch) {
      const user = await current();
      const next = { ...user, ...patch, version: user.version + 1 };
      const { writes } = await mirroring.update(user, next);
      await api.write(users.update(user, next), ...writes);
    },
    async remove() {
      const user = await current();
      const { writes } = await mirroring.remove(user);
      await api.write(users.remove(user), ...writes);
    },
  };
}

function placeOf({ tenantId, id: userId }: User) {
  return { tenantId, userId };
}
