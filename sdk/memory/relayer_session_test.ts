import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import {
  checkCertificate,
  readSessionHeader,
  SessionKey,
} from "../vault/session_key.ts";
import { MemError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { RelayerSession } from "./relayer_session.ts";
import { RequestSigner } from "./signer.ts";

const PACKAGE = `0x${"5a".repeat(32)}`;

function open(
  { config = { packageId: PACKAGE }, date }: {
    readonly config?: unknown;
    readonly date?: () => string;
  } = {},
) {
  const clock = new FakeClock(1_800_000_000_000);
  let setBackMs = 0;
  let asked = 0;
  const exchange: Exchange = {
    send() {
      asked++;
      const headers = new Headers();
      if (date !== undefined) headers.set("date", date());
      return Promise.resolve({ status: 200, json: config, headers });
    },
  };
  const session = new RelayerSession({
    exchange,
    signer: RequestSigner.create(new Uint8Array(32).fill(7)),
    clock: {
      nowMs: () => clock.nowMs() - setBackMs,
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    },
    timeoutMs: 5_000,
  });
  const setBack = (ms: number) => void (setBackMs = ms);
  return { clock, session, asked: () => asked, setBack };
}

async function checkAt(header: string, nowMs: number) {
  const exported = readSessionHeader(header);
  assert(exported !== undefined);
  const session = await SessionKey.import(exported);
  assert(session !== undefined);
  const check = await checkCertificate(session.certificate, {
    packageName: PACKAGE,
    nowMs,
  });
  return { exported, check };
}

Deno.test("RelayerSession.header() makes one session for all, which key servers take, and another before it ends", async () => {
  const { clock, session, asked } = open();
  const [first, again] = await Promise.all([
    session.header(),
    session.header(),
  ]);
  assertEquals(first, again);
  assertEquals(asked(), 1);
  const { exported, check } = await checkAt(first, clock.nowMs());
  assert(check.kind === "ok");
  assertEquals(check.address, exported.address);
  assertEquals([exported.packageId, exported.ttlMin], [PACKAGE, 15]);
  clock.advance(13 * 60_000);
  assertEquals(await session.header(), first);
  clock.advance(60_000);
  const second = await session.header();
  assertNotEquals(second, first);
  assertEquals((await checkAt(second, clock.nowMs())).check.kind, "ok");
});

Deno.test("RelayerSession.header() goes by the relayer's clock when this machine's is wrong or set back", async () => {
  const relayerMs = 1_800_000_240_000;
  const { session, setBack } = open({
    date: () => new Date(relayerMs).toUTCString(),
  });
  const header = await session.header();
  const { check } = await checkAt(header, relayerMs);
  assertEquals(check.kind, "ok");
  setBack(1_000_000);
  assertNotEquals(await session.header(), header);
});

Deno.test("RelayerSession.header() tells when the relayer names no package, and asks again", async () => {
  const { session, asked } = open({ config: {} });
  for (const expected of [1, 2]) {
    await assertRejects(() => session.header(), MemError, "packageId");
    assertEquals(asked(), expected);
  }
});
