import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  checkCredential,
  type Credential,
  lastUsedToWrite,
} from "./credential.ts";
import { digestMatches, hashSecret } from "./credential_token.ts";
import { parseNetwork } from "../../shared/ip_network.ts";

const NOW_MS = 1_800_000_000_000;
const HERE = {
  matches: presenting("right"),
  nowMs: NOW_MS,
  clientAddress: "192.0.2.1",
};
const PLAIN: Credential = {
  id: "dk_1",
  digest: hashSecret("right"),
  networks: [],
};

function presenting(secret: string): (stored?: string) => boolean {
  return (stored) => digestMatches(hashSecret(secret), stored);
}

function checkCode(credential: Credential | undefined, options = {}): string {
  const outcome = checkCredential(credential, { ...HERE, ...options });
  return outcome.kind === "ok" ? "ok" : outcome.code;
}

Deno.test("checkCredential() lets in who knows the secret", () => {
  assertEquals(checkCode(PLAIN), "ok");
  assertEquals(checkCode(PLAIN, { clientAddress: undefined }), "ok");
  assertEquals(
    checkCode(PLAIN, { matches: presenting("wrong") }),
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
  assertEquals(checkCode(ending), "ok");
  assertEquals(checkCode(ending, { nowMs: NOW_MS + 1 }), "token_expired");
  // A caller who does not know the secret is not told other reasons.
  assertEquals(
    checkCode(ending, { nowMs: NOW_MS + 1, matches: presenting("wrong") }),
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
    assertEquals(checkCode(bound, { clientAddress }), code);
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
