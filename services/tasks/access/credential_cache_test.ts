import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { Credential } from "./credential.ts";
import { CredentialCache } from "./credential_cache.ts";

function credential(id: string): Credential {
  return { id, digest: "", networks: [] };
}

Deno.test("CredentialCache asks once and then answers at once", async () => {
  const cache = new CredentialCache({ clock: new FakeClock() });
  let loads = 0;
  const load = () => Promise.resolve(credential(`dk_${++loads}`));
  const first = cache.find("t1", "dk_a", load);
  assertInstanceOf(first, Promise);
  assertEquals((await first)?.id, "dk_1");
  assertEquals(cache.find("t1", "dk_a", load), credential("dk_1"));
  // Another tenant's is another one, whatever the id.
  assertEquals((await cache.find("t2", "dk_a", load))?.id, "dk_2");
  assertEquals(loads, 2);
});

Deno.test("CredentialCache asks again when the time is up or the clock went back", async () => {
  const clock = new FakeClock();
  let nowMs = clock.nowMs();
  const cache = new CredentialCache({
    clock: { nowMs: () => nowMs, setTimer: clock.setTimer },
    maxAgeMs: 5_000,
  });
  const load = () => Promise.resolve(credential("dk_a"));
  await cache.find("t", "dk_a", load);
  nowMs += 4_999;
  assert(!(cache.find("t", "dk_a", load) instanceof Promise));
  nowMs += 1;
  assertInstanceOf(cache.find("t", "dk_a", load), Promise);
  await cache.find("t", "dk_a", load);
  nowMs -= 10_000;
  assertInstanceOf(cache.find("t", "dk_a", load), Promise);
});

Deno.test("CredentialCache.forget() drops it, also while it is being loaded", async () => {
  const cache = new CredentialCache({ clock: new FakeClock() });
  const slow = Promise.withResolvers<Credential | undefined>();
  const loading = cache.find("t", "dk_a", () => slow.promise);
  cache.forget("t", "dk_a");
  slow.resolve(credential("dk_a"));
  assertEquals((await loading)?.id, "dk_a");
  const gone = () => Promise.resolve(undefined);
  assertEquals(await cache.find("t", "dk_a", gone), undefined);
  await cache.find("t", "dk_a", () => Promise.resolve(credential("dk_a")));
  cache.forget("t", "dk_a");
  assertEquals(await cache.find("t", "dk_a", gone), undefined);
});

Deno.test("CredentialCache does not keep what does not exist", async () => {
  const cache = new CredentialCache({ clock: new FakeClock() });
  assertEquals(
    await cache.find("t", "dk_a", () => Promise.resolve(undefined)),
    undefined,
  );
  const load = () => Promise.resolve(credential("dk_a"));
  assertEquals(await cache.find("t", "dk_a", load), credential("dk_a"));
});
