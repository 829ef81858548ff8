import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { listOf, peopleRoutes } from "../../routes/users/testing/add_user.ts";
import { openTestApi, type TestApi } from "../../routes/testing/test_api.ts";
import { MirrorWorker } from "./mirror_worker.ts";
import { AWAY, RecordingMirror } from "./testing/recording_mirror.ts";

Deno.test("MirrorWorker make up for what a mirror did not do, once a minute", async () => {
  const { api, mirror, rounds } = await open();
  const made = await addUsers(api, 1);
  const path = `/v1/users/${made[0]}`;
  mirror.always = AWAY;
  await api.call("PUT", path, { body: { status: "disabled" } });
  const told = api.logger.messagesOf("warning").length;
  rounds.start();
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
  await rounds.stop();
  await api.close();
});

Deno.test("MirrorWorker remove who was removed while the mirror was away", async () => {
  const { api, mirror, rounds } = await open();
  const [id] = await addUsers(api, 1);
  mirror.next = AWAY;
  const gone = await api.call("DELETE", `/v1/users/${id}`);
  assertEquals([gone.status, gone.headers["user-mirror"]], [204, "failed"]);
  assertEquals(await rounds.runOnce(), 1);
  assertEquals(mirror.calls.at(-1), ["remove", "sub_1"]);
  assertEquals(await rounds.runOnce(), 0);
  await api.close();
});

Deno.test("MirrorWorker give up early, and go on behind what failed", async () => {
  const { api, mirror, rounds } = await open();
  mirror.always = AWAY;
  await addUsers(api, 12);
  const calls = async (): Promise<readonly unknown[]> => {
    const before = mirror.calls.length;
    await rounds.runOnce();
    return mirror.calls.slice(before).map(([, user]) =>
      Reflect.get(Object(user), "email")
    );
  };
  const all = [...await calls(), ...await calls(), ...await calls()];
  assertEquals(all.length, 12);
  assertEquals(new Set(all).size, 12);
  // An outage is told once.
  const told = api.logger.messages.filter((text) =>
    text.includes("each minute")
  );
  assertEquals(told.length, 1);
  mirror.always = undefined;
  assertEquals(await rounds.runOnce(), 12);
  await api.close();
});

async function open(): Promise<{
  readonly api: TestApi;
  readonly mirror: RecordingMirror;
  readonly rounds: MirrorWorker;
}> {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  const settling = api.parts.mirrorSettling;
  assert(settling !== undefined);
  const rounds = new MirrorWorker({ settling, parts: api.engine.parts });
  return { api, mirror, rounds };
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
