/**
 * Tests of several instances' authenticators on one database: a request gets
 * through at one of them.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { RequestHeaders } from "../../shared/http1/head.ts";
import {
  openSubject,
  type PostgresSubject,
} from "../store/postgres/testing/postgres_subject.ts";
import { StorageWatch } from "../store/storage_watch.ts";
import type { RelayerStore } from "../store/store.ts";
import { SAMPLE_MS } from "../store/testing/sample_rows.ts";
import { AccountResolver, Authenticator, nonceTtlMs } from "./authenticate.ts";
import { Nonces, toStore } from "./nonces.ts";
import { SignatureVerifier } from "./signed_request.ts";
import { FakeLedger, makeAccount } from "./testing/fake_ledger.ts";
import { makeSigner, signedHeaders } from "./testing/signer.ts";

type AuthRequest = Parameters<Authenticator["authenticate"]>[0];

type NonceStore = Pick<RelayerStore, "commit" | "hasOwnTime">;

const KEY = makeSigner(1);
const WINDOW_MS = 300_000;
const BODY = new TextEncoder().encode("{}");

/** An instance whose clock is the store's. */
function openInstance(
  store: NonceStore,
  clock: FakeClock,
): Authenticator {
  const logger = new RecordingLogger();
  const storage = new StorageWatch(() => Promise.resolve(), logger);
  const ledger = new FakeLedger();
  ledger.accounts = [makeAccount("1", [KEY.publicKey])];
  return new Authenticator({
    clock,
    nonces: new Nonces({
      clock,
      ttlMs: nonceTtlMs(WINDOW_MS),
      persist: toStore({ store, storage, logger }),
    }),
    signatures: new SignatureVerifier(),
    accounts: new AccountResolver({ ledger, clock }),
    windowMs: WINDOW_MS,
    isLegacyAllowed: false,
  });
}

function makeRequest(
  number: number,
  { onlyReads = false, timestampMs = SAMPLE_MS } = {},
): AuthRequest {
  const parts = {
    method: "POST",
    target: onlyReads ? "/api/recall" : "/api/remember",
    timestamp: timestampMs / 1_000,
    body: BODY,
    nonce: `8f14e45f-ceea-4e7a-9c1e-${String(number).padStart(12, "0")}`,
    accountId: `0x${"1".repeat(64)}`,
  };
  const headers = new RequestHeaders();
  for (const [name, value] of Object.entries(signedHeaders(KEY, parts))) {
    headers.add(name, value);
  }
  return {
    ...{ method: parts.method, target: parts.target, headers, onlyReads },
    maxBodyBytes: 1_000,
    body: () => Promise.resolve({ kind: "ok", bytes: BODY.slice() }),
  };
}

/** Whether a request got through, at the latest once the store has answered. */
async function isTaken(
  instance: Authenticator,
  request: AuthRequest,
): Promise<boolean> {
  const outcome = await instance.authenticate(request);
  const found = outcome.kind === "ok" ? await outcome.late : outcome;
  if (found === undefined) return true;
  assert(found.kind === "refused" && found.code === "ERR_REPLAY");
  return false;
}

async function withInstances(
  use: (
    instances: readonly Authenticator[],
    subject: PostgresSubject,
  ) => Promise<void>,
): Promise<void> {
  const subject = await openSubject();
  try {
    const stores = [
      subject.store,
      await subject.another(),
      await subject.another(),
    ];
    const clock = subject.clock;
    await use(stores.map((store) => openInstance(store, clock)), subject);
  } finally {
    await subject.close();
  }
}

serviceTest(["postgres"], {
  name:
    "authenticate() lets one of many equal requests through that come to three instances at once",
  fn: () =>
    withInstances(async (instances) => {
      for (let round = 0; round < 40; round++) {
        const request = makeRequest(round, { onlyReads: round % 2 === 0 });
        const taken = await Promise.all(
          Array.from(
            { length: 12 },
            (_, at) => isTaken(instances[at % 3]!, request),
          ),
        );
        assertEquals(taken.filter(Boolean).length, 1, `${round}`);
      }
    }),
});

serviceTest(["postgres"], {
  name:
    "authenticate() refuses a replay elsewhere for as long as its signature is accepted, also after sweeps",
  fn: () =>
    withInstances(async ([first, second, third], subject) => {
      // Signed by a client whose clock is ahead by as much as is allowed.
      const timestampMs = SAMPLE_MS + WINDOW_MS;
      const request = makeRequest(1, { timestampMs });
      assert(await isTaken(first!, request));
      subject.clock.advance(2 * WINDOW_MS);
      await subject.store.sweep({
        nowMs: subject.clock.nowMs() + 59_000,
        finishedJobsBeforeMs: 0,
        tombstonesBeforeMs: 0,
        limit: 1_000,
      });
      assertEquals(await isTaken(second!, request), false);
      subject.clock.advance(1);
      const late = await third!.authenticate(request);
      assertEquals(
        late.kind === "refused" && late.code,
        "ERR_TIMESTAMP_OUT_OF_BOUNDS",
      );
    }),
});

Deno.test("authenticate() goes on with what only reads while the store decides, and waits before anything else", async () => {
  const clock = new FakeClock(SAMPLE_MS);
  const answer = Promise.withResolvers<{ readonly kind: "ok" }>();
  let asked = 0;
  const instance = openInstance({
    hasOwnTime: true,
    commit() {
      asked++;
      return answer.promise;
    },
  }, clock);
  const reading = await instance.authenticate(
    makeRequest(1, { onlyReads: true }),
  );
  assert(reading.kind === "ok" && reading.late !== undefined);
  let isWritingTaken = false;
  const writing = instance.authenticate(makeRequest(2)).then((outcome) => {
    isWritingTaken = outcome.kind === "ok";
  });
  await clock.advanceAsync(1);
  assertEquals([asked, isWritingTaken], [2, false]);
  answer.resolve({ kind: "ok" });
  await writing;
  assertEquals([isWritingTaken, await reading.late], [true, undefined]);
});

Deno.test("authenticate() takes no request of which the store does not tell whether it is new", async () => {
  const instance = openInstance({
    hasOwnTime: true,
    commit: () => Promise.reject(new Error("no answer")),
  }, new FakeClock(SAMPLE_MS));
  const request = makeRequest(1);
  await assertRejects(
    () => instance.authenticate(request),
    Error,
    "no answer",
  );
  const reading = await instance.authenticate(
    makeRequest(2, { onlyReads: true }),
  );
  assert(reading.kind === "ok");
  await assertRejects(() => reading.late!, Error, "no answer");
});
