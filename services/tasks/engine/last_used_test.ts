import { assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { Store } from "../store/store.ts";
import { LastUsed } from "./last_used.ts";
import { addUser, peopleRoutes } from "../routes/users/testing/add_user.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";

Deno.test("LastUsed writes once a minute, to the minute", async () => {
  const { api, lastUsed, commits } = await open();
  const id = api.ownerKey.slice(0, 19);
  lastUsed.start();
  for (let count = 0; count < 100; count++) {
    lastUsed.note("key", api.tenant.id, id);
  }
  api.clock.advance(59_999);
  assertEquals(commits(), 0);
  lastUsed.note("key", api.tenant.id, id);
  await api.clock.advanceAsync(1);
  await waitUntil(() => commits() === 1, { what: "the write" });
  assertEquals(await shown(api, id), "2027-01-15T08:00:00.000Z");
  await api.clock.advanceAsync(60_000);
  assertEquals(commits(), 1);
  lastUsed.note("key", api.tenant.id, id);
  await lastUsed.stop();
  assertEquals(await shown(api, id), "2027-01-15T08:02:00.000Z");
  assertEquals(api.clock.pendingTimers, 0);
  await api.close();
});

Deno.test("LastUsed.noteCaller() notes keys, workers' credentials and users", async () => {
  const { api, lastUsed } = await open();
  const { repositories } = api.engine.parts;
  const tenantId = api.tenant.id;
  const ada = await addUser(api);
  await api.write(repositories.credentials.insert({
    tenantId,
    id: "wk_1",
    version: 1,
    workerId: "wrk_1",
    name: "",
    digest: "",
    secrets: false,
    createdAtMs: 0,
  }));
  const scopes = new Set<never>();
  const id = api.ownerKey.slice(0, 19);
  lastUsed.noteCaller({
    kind: "api_key",
    tenantId,
    keyId: id,
    scopes,
    payloads: true,
  });
  lastUsed.noteCaller({
    kind: "worker",
    tenantId,
    workerId: "wrk_1",
    credentialId: "wk_1",
    secrets: false,
  });
  lastUsed.noteCaller({
    kind: "user",
    tenantId,
    userId: ada.id,
    role: "viewer",
    scopes,
    payloads: true,
  });
  lastUsed.noteCaller({ kind: "operator" });
  lastUsed.noteCaller(undefined);
  await lastUsed.stop();
  const minuteMs = api.clock.nowMs();
  const credential = await repositories.credentials.get(tenantId, "wk_1");
  assertEquals(credential?.lastUsedAtMs, minuteMs);
  const user = await repositories.users.get(tenantId, ada.id);
  assertEquals(user?.lastSeenAtMs, minuteMs);
  const key = await repositories.keys.get(tenantId, id);
  assertEquals(key?.lastUsedAtMs, minuteMs);
  await api.close();
});

Deno.test("LastUsed holds no more notes than it may", async () => {
  const { api, lastUsed } = await open();
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) {
    ids.push((await api.addKey({ role: "viewer" })).slice(0, 19));
  }
  for (let other = 0; other < 9_998; other++) {
    lastUsed.note("key", api.tenant.id, `dk_gone${other}`);
  }
  for (const id of [...ids, ...ids]) lastUsed.note("key", api.tenant.id, id);
  await lastUsed.stop();
  const seen = await Promise.all(ids.map((id) => shown(api, id)));
  assertEquals(seen.filter((time) => time !== null).length, 2);
  await api.close();
});

Deno.test("LastUsed leaves out what is gone, and a store that fails is told once", async () => {
  const { api, lastUsed, commits, fail } = await open();
  lastUsed.note("key", api.tenant.id, "dk_gone");
  lastUsed.note("credential", api.tenant.id, "wk_gone");
  lastUsed.note("user", api.tenant.id, "usr_gone");
  await lastUsed.stop();
  assertEquals(commits(), 0);
  fail();
  lastUsed.note("key", api.tenant.id, api.ownerKey.slice(0, 19));
  await lastUsed.stop();
  assertEquals(api.logger.listMessages("warning").length, 1);
  await lastUsed.stop();
  assertEquals(api.logger.listMessages("warning").length, 1);
  await api.close();
});

interface Opened {
  readonly api: TestApi;
  readonly lastUsed: LastUsed;
  readonly commits: () => number;
  /** Lets all further commits fail. */
  readonly fail: () => void;
}

async function open(): Promise<Opened> {
  const api = await openTestApi({ routes: peopleRoutes });
  const { store, repositories } = api.engine.parts;
  let commits = 0;
  let isBroken = false;
  const counting: Pick<Store, "commit"> = {
    commit(transactions) {
      if (isBroken) return Promise.reject(new Error("disk full"));
      commits++;
      return store.commit(transactions);
    },
  };
  const lastUsed = new LastUsed({
    store: counting,
    repositories,
    clock: api.clock,
    logger: api.logger,
  });
  return {
    api,
    lastUsed,
    commits: () => commits,
    fail: () => {
      isBroken = true;
    },
  };
}

async function shown(api: TestApi, id: string): Promise<unknown> {
  return (await api.call("GET", `/v1/keys/${id}`)).at("last_used_at");
}
