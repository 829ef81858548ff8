/**
 * Demands about clients' keys, nonces, rate windows, blobs beyond restoring and
 * sweeping.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { KeyClaim } from "../../store.ts";
import { ALICE, BOB, SAMPLE_MS, sampleJob } from "../sample_rows.ts";
import { commitAll, type StoreCase } from "./store_case.ts";

const CLAIM: KeyClaim = {
  owner: ALICE,
  key: "r1-key",
  fingerprint: "digest",
  jobIds: ["job-1", "job-2"],
  expiresAtMs: SAMPLE_MS + 1_000,
};

/** All of them. */
export function sideCases(): readonly StoreCase[] {
  return [
    {
      title: "a key is claimed once by each owner, with its jobs or without",
      async run({ store }) {
        await commitAll(
          store,
          { kind: "claim_key", claim: CLAIM },
          { kind: "new_job", job: sampleJob() },
        );
        assertEquals(await store.keyClaim(ALICE, "r1-key", SAMPLE_MS), CLAIM);
        const again = { ...CLAIM, fingerprint: "other" };
        const outcome = await store.commit([
          { kind: "new_job", job: sampleJob({ id: "job-9" }) },
          { kind: "claim_key", claim: again },
        ]);
        assertEquals(outcome, { kind: "conflict", change: 1 });
        assertEquals(await store.jobs(ALICE, ["job-9"]), [undefined]);
        assertEquals(await store.keyClaim(ALICE, "r1-key", SAMPLE_MS), CLAIM);
        const bobs = { ...again, owner: BOB };
        await commitAll(store, { kind: "claim_key", claim: bobs });
        assertEquals(await store.keyClaim(BOB, "r1-key", SAMPLE_MS), bobs);
        assertEquals(await store.keyClaim(BOB, "none", SAMPLE_MS), undefined);
      },
    },
    {
      title: "a key that has expired is free again",
      async run({ store, clock }) {
        await commitAll(store, { kind: "claim_key", claim: CLAIM });
        clock.advance(1_000);
        const nowMs = clock.nowMs();
        assertEquals(await store.keyClaim(ALICE, "r1-key", nowMs), undefined);
        const claim = { ...CLAIM, jobIds: ["x"], expiresAtMs: nowMs + 9 };
        await commitAll(store, { kind: "claim_key", claim });
        assertEquals(await store.keyClaim(ALICE, "r1-key", nowMs), claim);
      },
    },
    {
      title: "nonces and rate windows are there after a restart",
      async run({ store, restart }) {
        const minute = Math.floor(SAMPLE_MS / 60_000);
        await commitAll(
          store,
          { kind: "nonce", nonce: "n-1", expiresAtMs: SAMPLE_MS + 10 },
          { kind: "nonce", nonce: "n-2", expiresAtMs: SAMPLE_MS + 20 },
          { kind: "nonce", nonce: "n-2", expiresAtMs: SAMPLE_MS + 20 },
          { kind: "rate", window: { name: "k", minute, points: 5 } },
          { kind: "rate", window: { name: "k", minute, points: 7 } },
          {
            kind: "rate",
            window: { name: "k", minute: minute - 1, points: 1 },
          },
        );
        await restart();
        assertEquals(await store.nonces(SAMPLE_MS + 10), ["n-2"]);
        assertEquals(await store.rateWindows(minute), [
          { name: "k", minute, points: 7 },
        ]);
        assertEquals((await store.rateWindows(minute - 1)).length, 2);
      },
    },
    {
      title: "blobs beyond restoring are noted by owner",
      async run({ store }) {
        const bad = { kind: "bad_blob", owner: ALICE, blobId: "b" } as const;
        await commitAll(store, bad, bad);
        assertEquals(await store.badBlobs(ALICE, ["a", "b"]), new Set(["b"]));
        assertEquals(await store.badBlobs(BOB, ["b"]), new Set());
      },
    },
    {
      title: "sweeping removes what is over, up to the bound, and no more",
      async run({ store, clock }) {
        const minute = Math.floor(SAMPLE_MS / 60_000);
        await commitAll(
          store,
          { kind: "claim_key", claim: CLAIM },
          { kind: "nonce", nonce: "n-1", expiresAtMs: SAMPLE_MS + 10 },
          { kind: "nonce", nonce: "n-2", expiresAtMs: SAMPLE_MS + 3_600_000 },
          {
            kind: "rate",
            window: { name: "k", minute: minute - 200, points: 5 },
          },
          { kind: "rate", window: { name: "k", minute, points: 5 } },
          { kind: "new_job", job: sampleJob({ id: "open" }) },
          {
            kind: "new_job",
            job: sampleJob({ id: "done", status: "done" }),
          },
        );
        clock.advance(60_000);
        await commitAll(store, {
          kind: "new_job",
          job: sampleJob({ id: "late", status: "failed" }),
        });
        const bounds = {
          nowMs: clock.nowMs(),
          finishedJobsBeforeMs: clock.nowMs(),
          tombstonesBeforeMs: 0,
        };
        assertEquals(await store.sweep({ ...bounds, limit: 1 }), 1);
        assertEquals(await store.sweep({ ...bounds, limit: 100 }), 3);
        assertEquals(await store.sweep({ ...bounds, limit: 100 }), 0);
        assertEquals(
          (await store.jobs(ALICE, ["open", "done", "late"]))
            .map((job) => job?.id),
          ["open", undefined, "late"],
        );
        assertEquals(await store.nonces(0), ["n-2"]);
        assertEquals((await store.rateWindows(0)).length, 1);
        const claim = { ...CLAIM, expiresAtMs: clock.nowMs() + 1 };
        await commitAll(store, { kind: "claim_key", claim });
      },
    },
  ];
}
