import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  checkCredential,
  type Credential,
  CredentialCache,
  lastUsedToWrite,
} from "./credential.ts";
import { digestMatches, digestOf } from "./credential_token.ts";
import { parseNetwork } from "../../shared/ip_network.ts";

const NOW_MS = 1_800_000_000_000;
const HERE = {
  matches: presenting("right"),
  nowMs: NOW_MS,
  clientAddress: "192.0.2.1",
};
const PLAIN: Credential = {
  id: "dk_1",
  digest: digestOf("right"),
  networks: [],
};

function presenting(secret: string): (stored?: string) => boolean {
  return (stored) => digestMatches(digestOf(secret), stored);
}

function codeOf(credential: Credential | undefined, options = {}): string {
  const outcome = checkCredential(credential, { ...HERE, ...options });
  return outcome.kind === "ok" ? "ok" : outcome.code;
}

Deno.test("checkCredential() lets in who knows the secret", () => {
  assertEquals(codeOf(PLAIN), "ok");
  assertEquals(codeOf(PLAIN, { clientAddress: undefined }), "ok");
  assertEquals(
    codeOf(PLAIN, { matches: presenting("wrong") }),
    "invalid_credentials",
  );
});

Deno.test("checkCredential() answers a missing credential like a wrong secret", () => {
  const wrong = checkCredential(PLAIN, {
    ...HERE,
    matches: presenting("wrong"),
  });
  assertEquals(checkCredential(undefined, HERE), wrong);
});

Deno.test("checkCredential() ends with the expiry, to the millisecond", () => {
  const ending = { ...PLAIN, expiresAtMs: NOW_MS + 1 };
  assertEquals(codeOf(ending), "ok");
  assertEquals(codeOf(ending, { nowMs: NOW_MS + 1 }), "token_expired");
  // A caller who does not know the secret is not told other reasons.
  assertEquals(
    codeOf(ending, { nowMs: NOW_MS + 1, matches: presenting("wrong") }),
    "invalid_credentials",
  );
});

Deno.test("checkCredential() lets in only from the networks, where there are some", () => {
  const outcome = parseNetwork("10.0.0.0/8");
  assert(outcome.kind === "ok");
  const bound = { ...PLAIN, networks: [outcome.network] };
  const cases: readonly [string | undefined, string][] = [
    ["10.255.1.1", "ok"],
    ["::ffff:10.0.0.1", "ok"],
    ["11.0.0.1", "forbidden"],
    ["::1", "forbidden"],
    ["nonsense", "forbidden"],
    [undefined, "forbidden"],
  ];
  for (const [clientAddress, code] of cases) {
    assertEquals(codeOf(bound, { clientAddress }), code);
  }
});

Deno.test("lastUsedToWrite() writes once a minute and never backwards", () => {
  const random = new SeededRandom(17);
  let lastUsedMs: number | undefined;
  let nowMs = NOW_MS;
  const minutes = new Set<number>();
  let writes = 0;
  for (let round = 0; round < 10_000; round++) {
    nowMs += random.below(2_000) - 500;
    const minuteMs = lastUsedToWrite(lastUsedMs, nowMs);
    if (minuteMs === undefined) continue;
    writes++;
    assertEquals(minuteMs % 60_000, 0);
    assert(minuteMs <= nowMs && nowMs - minuteMs < 60_000);
    assert(lastUsedMs === undefined || minuteMs > lastUsedMs);
    lastUsedMs = minuteMs;
    minutes.add(minuteMs);
  }
  assertEquals(writes, minutes.size);
  assert(writes > 10);
});

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
  // The same id in another tenant is another credential.
  assertEquals((await cache.find("t2", "dk_a", load))?.id, "dk_2");
  assertEquals(loads, 2);
});

Deno.test("CredentialCache asks again when the time is up or the clock went back", async () => {
  const clock = new FakeClock();
  let nowMs = clock.nowMs();
  const cache = new CredentialCache({
    clock: { nowMs: () => nowMs, setTimer: clock.setTimer },
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
