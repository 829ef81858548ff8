import { assert, assertEquals } from "@std/assert";
import { sessionIdOf } from "../access/session_cookie.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";
import { SESSIONS_PARENT } from "./repositories.ts";
import { Sessions } from "./sessions.ts";

const KEY = { kind: "key", id: "dk_1" } as const;

async function open(): Promise<{
  readonly api: TestApi;
  readonly sessions: Sessions;
  /** How many sessions of the tenant are stored. */
  readonly stored: () => Promise<number>;
}> {
  const api = await openTestApi({ routes: () => [] });
  const { parts } = api.engine;
  const { sessions } = parts.repositories;
  return {
    api,
    sessions: new Sessions(parts),
    stored: async () =>
      (await sessions.all(api.tenant.id, SESSIONS_PARENT)).length,
  };
}

Deno.test("Sessions finds a session until it ends, in its own tenant alone", async () => {
  const { api, sessions } = await open();
  const { id: tenantId } = api.tenant;
  const token = await sessions.open(tenantId, {
    credential: KEY,
    lengthMs: 1_000,
  });
  const found = await sessions.find(tenantId, token);
  assertEquals([found?.id, found?.credential], [sessionIdOf(token), KEY]);
  assert(sessions.recall(tenantId, token));
  assertEquals(await sessions.find("ten_2", token), undefined);
  assert(!sessions.recall(tenantId, undefined));
  api.clock.advance(1_000);
  assertEquals(await sessions.find(tenantId, token), undefined);
  assert(!sessions.recall(tenantId, token));
  await api.close();
});

Deno.test("Sessions.end() ends one session, and does nothing for an unknown one", async () => {
  const { api, sessions } = await open();
  const { id: tenantId } = api.tenant;
  const options = { credential: KEY, lengthMs: 1_000 };
  const first = await sessions.open(tenantId, options);
  const second = await sessions.open(tenantId, options);
  await sessions.end(tenantId, first);
  await sessions.end(tenantId, first);
  assertEquals(await sessions.find(tenantId, first), undefined);
  assert(await sessions.find(tenantId, second) !== undefined);
  await api.close();
});

Deno.test("Sessions.open() removes sessions that have ended", async () => {
  const { api, sessions, stored } = await open();
  const { id: tenantId } = api.tenant;
  for (let count = 0; count < 3; count++) {
    await sessions.open(tenantId, { credential: KEY, lengthMs: 1_000 });
  }
  assertEquals(await stored(), 3);
  api.clock.advance(1_000);
  await sessions.open(tenantId, { credential: KEY, lengthMs: 1_000 });
  assertEquals(await stored(), 1);
  await api.close();
});

Deno.test("Sessions.open() keeps 500 sessions of a tenant, and ends the oldest", async () => {
  const { api, sessions, stored } = await open();
  const { id: tenantId } = api.tenant;
  const options = { credential: KEY, lengthMs: 3_600_000 };
  const oldest = await sessions.open(tenantId, options);
  api.clock.advance(1);
  const next = await sessions.open(tenantId, options);
  api.clock.advance(1);
  for (let count = 2; count <= 500; count++) {
    await sessions.open(tenantId, options);
  }
  assertEquals(await stored(), 500);
  assertEquals(await sessions.find(tenantId, oldest), undefined);
  assert(await sessions.find(tenantId, next) !== undefined);
  await api.close();
});
