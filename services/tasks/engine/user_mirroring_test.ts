import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";
import {
  addUser,
  listMembers,
  peopleRoutes,
} from "../routes/users/testing/add_user.ts";
import type { User } from "../domain/records.ts";
import type { Store, Write } from "../store/store.ts";
import { serviceWrite } from "./record_writes.ts";
import { REGISTRY } from "./repositories.ts";
import { AWAY, RecordingMirror } from "./testing/recording_mirror.ts";
import { TENANT_ID } from "./testing/test_engine.ts";
import {
  answered,
  openTestPush,
  type TestPush,
  type TestPushOptions,
} from "./testing/test_push.ts";
import { MIRROR_WORKER } from "./workers.ts";

const ADA = { email: "ada@example.com" };
const USER: User = {
  tenantId: TENANT_ID,
  id: "usr_ada",
  version: 1,
  ...ADA,
  name: "",
  role: "member",
  status: "invited",
  payloads: true,
  createdAtMs: 0,
  updatedAtMs: 0,
};
/** No push worker is called. */
const SILENT = { answer: () => answered(200) };

Deno.test("UserMirroring sends again what the mirror did not do, and tells the audit log", async () => {
  const { api, mirror, path } = await open();
  mirror.always = AWAY;
  await api.call("PUT", path, { body: { status: "disabled" } });
  const renamed = await api.call("PUT", path, { body: { name: "Ada" } });
  assertEquals(renamed.headers["user-mirror"], "failed");
  await api.clock.advanceAsync(60_000);
  await waitUntil(() => mirror.calls.length === 5, {
    what: "the second tries",
  });
  mirror.always = undefined;
  await api.clock.advanceAsync(120_000);
  await untilDelivered(api);
  const last = mirror.calls.slice(5).map((call) => JSON.stringify(call)).sort();
  assertEquals(last, [
    '["update","sub_1",{"isBlocked":true}]',
    '["update","sub_1",{"name":"Ada"}]',
  ]);
  // An outage is logged once a change.
  assertEquals(api.logger.listMessages("warning").length, 2);
  assertEquals((await actions(api)).filter((action) => /mirror/.test(action)), [
    "user.mirrored",
    "user.mirrored",
    "user.mirror_failed",
    "user.mirror_failed",
  ]);
  await api.close();
});

Deno.test("UserMirroring changes a user at the mirror who was changed while being added", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  let changing: ReturnType<TestApi["call"]> | undefined;
  mirror.meanwhile = async () => {
    const [user] = await api.engine.parts.repositories.users.all(api.tenant.id);
    const body = { status: "disabled" };
    changing = api.call("PUT", `/v1/users/${user?.id}`, { body });
    await waitUntil(async () => await deliveries(api.store) === 2, {
      what: "the second delivery",
    });
    assertEquals(mirror.verbs, ["create"]);
  };
  const made = await api.call("POST", "/v1/users", { body: ADA });
  assertEquals(made.headers["user-mirror"], "ok");
  assertEquals((await changing)?.headers["user-mirror"], "ok");
  assertEquals(mirror.calls.slice(1), [
    ["update", "sub_1", { isBlocked: true }],
  ]);
  await api.close();
});

Deno.test("UserMirroring removes a user from the mirror who was removed while being added", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  let removing: ReturnType<TestApi["call"]> | undefined;
  mirror.meanwhile = async () => {
    const [user] = await api.engine.parts.repositories.users.all(api.tenant.id);
    removing = api.call("DELETE", `/v1/users/${user?.id}`);
    await waitUntil(async () => await deliveries(api.store) === 2, {
      what: "the second delivery",
    });
  };
  await api.call("POST", "/v1/users", { body: ADA });
  assertEquals((await removing)?.headers["user-mirror"], "ok");
  assertEquals(mirror.calls.slice(1), [["remove", "sub_1"]]);
  await api.close();
});

Deno.test("UserMirroring adds nobody to the mirror for a tenant that closes", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const ada = await addUser(api);
  const { tenants } = api.engine.parts.repositories;
  const tenant = await tenants.get(REGISTRY, api.tenant.id);
  assert(tenant !== undefined);
  const version = tenant.version + 1;
  const plan = api.engine.mirroring.insert(ada);
  await api.write(
    tenants.update(tenant, { ...tenant, version, status: "closing" }),
    ...plan.writes,
  );
  assertEquals([await plan.run(), mirror.calls], [undefined, []]);
  await api.close();
});

Deno.test("UserMirroring makes the deliveries that an earlier process left", async () => {
  const lost = new RecordingMirror();
  lost.meanwhile = () => new Promise(() => {});
  const first = await openWorld({ mirror: lost });
  const { writes } = first.engine.mirroring.insert(USER);
  await write(first, first.parts.repositories.users.insert(USER), ...writes);
  await first.start();
  await first.clock.advance(5_000);
  assertEquals(lost.verbs, ["create"]);
  // The first process never hears of the end of its call.
  first.die();
  await first.store.leave(first.parts.instances.id);
  const mirror = new RecordingMirror();
  const { store, clock } = first;
  const second = await openTestPush({ ...SILENT, mirror, store, clock });
  await second.start();
  await second.clock.advance(5_000);
  assertEquals(mirror.calls, lost.calls);
  assertEquals(await deliveries(store), 0);
});

Deno.test("UserMirroring takes over what an earlier version marked", async () => {
  const mirror = new RecordingMirror();
  const world = await openWorld({ mirror });
  const { users } = world.parts.repositories;
  const bob = { ...USER, id: "usr_bob", email: "bob@example.com", name: "Bob" };
  const place = (of: string, id: string) => ({
    tenantId: REGISTRY,
    id: `${of}:${TENANT_ID}:${id}`,
  });
  const mark = (id: string, work: object) =>
    serviceWrite(place("mirror", id), JSON.stringify(work));
  await write(
    world,
    users.insert(USER),
    users.insert(bob),
    mark(USER.id, { kind: "change", fields: ["email", "name", "isBlocked"] }),
    mark(bob.id, { kind: "change", fields: ["name"] }),
    serviceWrite(place("subject", bob.id), "idp|bob"),
    mark("usr_gone", { kind: "remove", subject: "idp|gone" }),
    serviceWrite(place("subject", "usr_gone"), "idp|gone"),
  );
  await world.start();
  await world.clock.advance(5_000);
  assertEquals(mirror.calls.map((call) => JSON.stringify(call)).sort(), [
    '["create",{"tenant":"acme","userId":"usr_ada",' +
    '"email":"ada@example.com","isBlocked":false}]',
    '["remove","idp|gone"]',
    '["update","idp|bob",{"name":"Bob"}]',
  ]);
  assertEquals(await registry(world.store, "mirror:"), []);
  assertEquals(await registry(world.store, "subject:"), [
    place("subject", USER.id).id,
    place("subject", bob.id).id,
  ]);
  await world.stop();
});

Deno.test("UserMirroring keeps deliveries while users are not mirrored", async () => {
  const asked = await openWorld({ mirror: new RecordingMirror() });
  const { writes } = asked.engine.mirroring.insert(USER);
  await write(asked, asked.parts.repositories.users.insert(USER), ...writes);
  const { store, clock } = asked;
  const without = await openTestPush({ ...SILENT, store, clock });
  await without.start();
  await without.clock.advance(5_000);
  await without.stop();
  const mirror = new RecordingMirror();
  const again = await openTestPush({ ...SILENT, mirror, store, clock });
  await again.start();
  await again.clock.advance(3_600_000);
  assertEquals(mirror.verbs, ["create"]);
  await again.stop();
});

Deno.test("UserMirroring.remove() forgets the subject when nothing is mirrored any more", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const { id } = await addUser(api, { role: "member" });
  const place = `subject:${api.tenant.id}:${id}`;
  await api.write(
    serviceWrite({ tenantId: REGISTRY, id: place }, "sub_1"),
  );
  const gone = await api.call("DELETE", `/v1/users/${id}`);
  assertEquals([gone.status, gone.headers["user-mirror"]], [204, undefined]);
  assertEquals(await registry(api.store, "subject:"), []);
  await api.close();
});

async function open(): Promise<{
  readonly api: TestApi;
  readonly mirror: RecordingMirror;
  /** The path of a user who is at the mirror. */
  readonly path: string;
}> {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const made = await api.call("POST", "/v1/users", { body: ADA });
  return { api, mirror, path: `/v1/users/${made.textAt("id")}` };
}

/** An engine whose store has the tenant of tests. */
async function openWorld(options: Partial<TestPushOptions>): Promise<TestPush> {
  const world = await openTestPush({ ...SILENT, ...options });
  await write(
    world,
    world.parts.repositories.tenants.insert({
      id: TENANT_ID,
      version: 1,
      domain: "acme",
      status: "active",
      plan: "test",
      timezone: "UTC",
      createdAtMs: 0,
      updatedAtMs: 0,
    }),
  );
  return world;
}

async function write(
  { parts }: TestPush,
  ...writes: readonly Write[]
): Promise<void> {
  assertEquals(await parts.store.commit([{ writes }]), [{ kind: "ok" }]);
}

/** How many deliveries are not made yet. */
async function deliveries(store: Store): Promise<number> {
  const { tenantId } = MIRROR_WORKER;
  const { complete: _, ...open } = await store.counts({ tenantId });
  return Object.values(open).reduce((sum, count) => sum + count, 0);
}

async function untilDelivered(api: TestApi): Promise<void> {
  await waitUntil(async () => await deliveries(api.store) === 0, {
    what: "the end of all deliveries",
  });
}

async function registry(
  store: Store,
  prefix: string,
): Promise<readonly string[]> {
  const { records } = await store.records({
    ...{ kind: "service", tenantId: REGISTRY, limit: 100 },
  });
  return records.map(({ id }) => id).filter((id) => id.startsWith(prefix));
}

async function actions(api: TestApi): Promise<readonly string[]> {
  const log = await api.call("GET", "/v1/audit");
  return listMembers(log.at("data"), "action").map(String);
}
