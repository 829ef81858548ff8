import { assert, assertEquals } from "@std/assert";
import type { User } from "../../domain/records.ts";
import { addUser, peopleRoutes } from "../../routes/users/testing/add_user.ts";
import {
  type MirrorPlan,
  UserMirroring,
} from "../../routes/users/user_mirroring.ts";
import { openTestApi, type TestApi } from "../../routes/testing/test_api.ts";
import type { MirrorSettling } from "./mirror_settling.ts";
import { AWAY, RecordingMirror } from "./testing/recording_mirror.ts";

Deno.test("MirrorSettling.settle() sends a user again who is changed meanwhile", async () => {
  const { api, mirror, settling, ada, change } = await open();
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
  const { api, mirror, settling, ada, change } = await open();
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
  const { api, mirror, settling, ada, remove } = await open();
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
  const { api, mirror, settling, ada } = await open();
  const settled = await Promise.all([
    settling.settle(placeOf(ada)),
    settling.settle(placeOf(ada)),
  ]);
  assertEquals(settled, [{ kind: "ok" }, { kind: "nothing" }]);
  assertEquals(mirror.verbs, ["create"]);
  await api.close();
});

Deno.test("MirrorSettling.settle() adds nobody to the mirror for a tenant that closes", async () => {
  const { api, mirror, settling, ada } = await open();
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
  /** A user whom the mirror has not been told of. */
  readonly ada: User;
  /** Stores a change, as a route does before the mirror is asked. */
  readonly change: (patch: Partial<User>) => Promise<void>;
  /** Removes the user here, as a route does. */
  readonly remove: () => Promise<void>;
}

async function open(): Promise<Setting> {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const settling = api.parts.mirrorSettling;
  assert(settling !== undefined);
  const { users } = api.engine.parts.repositories;
  const mirroring = new UserMirroring({ settling, parts: api.engine.parts });
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
      const { writes }: MirrorPlan = await mirroring.update(user, next);
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
