import { assertEquals, assertRejects } from "@std/assert";
import { MemDestroyedError, MemError } from "../memory/errors.ts";
import type { ClientClock } from "../memory/client_clock.ts";
import { messageSigner } from "../vault/session_key.ts";
import { KeySessions } from "./key_sessions.ts";
import type { KeySigner } from "./manual_config.ts";

const PACKAGE_ID = `0x${"1".repeat(64)}`;
const ADDRESS = `0x${"2".repeat(64)}`;
const CLOCK = {
  nowMs: () => 1_800_000_000_000,
  setTimer: () => ({ cancel: () => {} }),
};

function createWallet(
  sign: (message: Uint8Array) => unknown,
): KeySigner {
  return {
    kind: "wallet",
    wallet: {
      address: ADDRESS,
      // deno-lint-ignore no-explicit-any -- a wallet may answer with anything
      signPersonalMessage: async ({ message }) => await sign(message) as any,
    },
  };
}

function createSessions(
  signer: KeySigner,
  signal = new AbortController().signal,
  clock: ClientClock = CLOCK,
): KeySessions {
  return new KeySessions({ signer, clock, signal });
}

Deno.test("a wallet that refuses, or answers with no signature, is an error, and asked again later", async () => {
  const sign = messageSigner(new Uint8Array(32).fill(7));
  const answers: (() => unknown)[] = [
    () => {
      throw new Error("the user says no");
    },
    () => ({ signature: 7 }),
    () => undefined,
  ];
  let last: Uint8Array = new Uint8Array();
  const sessions = createSessions(createWallet((message) => {
    last = message;
    const answer = answers.shift();
    return answer === undefined
      ? sign(message).then((signature) => ({ signature }))
      : answer();
  }));
  for (const words of ["has not signed", "is not text", "has not signed"]) {
    await assertRejects(() => sessions.current(PACKAGE_ID), MemError, words);
  }
  const session = await sessions.current(PACKAGE_ID);
  assertEquals(session.address, ADDRESS);
  assertEquals(await sessions.current(PACKAGE_ID), session);
  assertEquals(new TextDecoder().decode(last).includes(PACKAGE_ID), true);
  const other = await sessions.current(PACKAGE_ID, session);
  assertEquals(other === session, false);
});

Deno.test("the end of the client ends the wait for a wallet", async () => {
  const life = new AbortController();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const asked = Promise.withResolvers<void>();
  const sessions = createSessions(
    createWallet(() => {
      asked.resolve();
      return promise;
    }),
    life.signal,
  );
  const waiting = sessions.current(PACKAGE_ID);
  await asked.promise;
  life.abort(new MemDestroyedError());
  await assertRejects(() => waiting, MemDestroyedError);
  // A late answer of the wallet has no effect.
  resolve({ signature: "AA==" });
});

Deno.test("wipe() overwrites the private key", () => {
  const seed = new Uint8Array(32).fill(7);
  createSessions({ kind: "seed", seed }).wipe();
  assertEquals(seed, new Uint8Array(32));
});

Deno.test("current() makes another session when the clock was set back before the first one began", async () => {
  let nowMs = CLOCK.nowMs();
  const clock = { ...CLOCK, nowMs: () => nowMs };
  const signer = { kind: "seed", seed: new Uint8Array(32).fill(7) } as const;
  const sessions = createSessions(signer, undefined, clock);
  const first = await sessions.current(PACKAGE_ID);
  nowMs -= 10_000;
  assertEquals(await sessions.current(PACKAGE_ID) === first, true);
  nowMs -= 1;
  const second = await sessions.current(PACKAGE_ID);
  assertEquals(second.certificate.creation_time, nowMs);
});
