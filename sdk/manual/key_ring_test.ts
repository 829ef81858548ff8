import { assertEquals } from "@std/assert";
import { stubParts } from "../memory/testing/stub_parts.ts";
import { InstantClock } from "../memory/testing/instant_clock.ts";
import { TestKeyServers } from "../vault/testing/key_servers.ts";
import { KeyRing } from "./key_ring.ts";
import { KeySessions } from "./key_sessions.ts";

const PACKAGE_ID = `0x${"ab".repeat(32)}`;
const OWNER = `0x${"ef".repeat(32)}`;
const MINUTE_MS = 60_000;

Deno.test("KeyRing.keysFor() keeps each key until the session ends in which it was given", async () => {
  const clock = new InstantClock();
  const nowMs = () => clock.nowMs();
  const servers = new TestKeyServers({
    packageId: PACKAGE_ID,
    count: 1,
    nowMs,
  });
  const parts = stubParts({ clock });
  const group = {
    ...{ name: "all", threshold: 1 },
    keyServers: servers.keyServers,
  };
  const ring = new KeyRing({
    sessions: new KeySessions({
      signer: { kind: "seed", seed: new Uint8Array(32).fill(7) },
      clock,
      signal: parts.signal,
    }),
    ...{ parts, fetch: servers.fetch, timeoutMs: 10_000 },
  });
  const account = {
    accountId: `0x${"cd".repeat(32)}`,
    ...{ initialVersion: 1n, packageId: PACKAGE_ID, owner: OWNER },
    ...{ isActive: true, delegates: [], accessCounter: 0n },
  };
  /** Returns how many requests the key server has had after a wish. */
  const ask = async (byte: number): Promise<number | undefined> => {
    const wanted = [{ id: Uint8Array.of(byte), group }];
    const context = { packageId: PACKAGE_ID, account, registry: undefined };
    const keys = await ring.keysFor(wanted, { ...context, own: group });
    assertEquals(keys.size, 1);
    return servers.requests[0];
  };
  assertEquals(await ask(1), 1);
  assertEquals(await ask(1), 1);
  // The first session is about to end, so this key is given in another one.
  clock.pass(5 * MINUTE_MS - 5_000);
  assertEquals(await ask(2), 2);
  clock.pass(5_000);
  assertEquals(await ask(2), 2);
  assertEquals(await ask(1), 3);
  clock.pass(5 * MINUTE_MS - 5_000);
  assertEquals(await ask(2), 4);
});
