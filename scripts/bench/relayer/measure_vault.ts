/**
 * Measures what key servers cost the relayer: opening ten blobs of an owner
 * whose key has to be fetched first, and opening them once the key is known.
 * The key servers are in this process and answer at once.
 *
 * @module
 */

import {
  isUserKeyOf,
  newMasterSecret,
  publicKeyOf,
  userKeyOf,
} from "../../../sdk/vault/identity_encryption.ts";
import { sampleContent } from "../../../services/relayer/vault/testing/open_vault.ts";
import { ThresholdWorld } from "../../../services/relayer/vault/testing/threshold_world.ts";
import type { Bar } from "../tasks/bar.ts";
import { quantile } from "../tasks/load_job.ts";

const OWNER = `0x${"a1".repeat(32)}`;
const MEMORIES = 10;
const COLD_ROUNDS = 10;
const WARM_ROUNDS = 200;
const WARM_BAR_MS = 5;

/** Measures with three key servers, of which two have to answer. */
export async function measureVault(): Promise<readonly Bar[]> {
  const bars: Bar[] = [];
  await ThresholdWorld.with(async (world) => {
    const blobs: Uint8Array[] = [];
    for (let at = 0; at < MEMORIES; at++) {
      const content = sampleContent({ id: `memory-${at}` });
      blobs.push((await world.seal(OWNER, content)).bytes);
    }
    const openAll = async (): Promise<number> => {
      const beginMs = performance.now();
      for (const bytes of blobs) {
        const { kind } = await world.vault.open(OWNER, bytes);
        if (kind !== "ok") throw new Error("Cannot measure: a blob is shut");
      }
      return performance.now() - beginMs;
    };
    const cold: number[] = [];
    for (let round = 0; round < COLD_ROUNDS; round++) {
      await world.restart();
      await world.signIn(OWNER);
      cold.push(await openAll());
    }
    const warm: number[] = [];
    for (let round = 0; round < WARM_ROUNDS; round++) {
      warm.push(await openAll());
    }
    const [colds, warms] = [cold, warm].map((times) =>
      Float64Array.from(times).sort()
    );
    if (colds === undefined || warms === undefined) return;
    bars.push(
      {
        name: "ten blobs opened, owner's key known, p50",
        atMost: WARM_BAR_MS,
        value: quantile(warms, 0.5),
        unit: "ms",
        digits: 2,
        note: `p99 ${quantile(warms, 0.99).toFixed(2)} ms`,
      },
      {
        name: "ten blobs opened, owner's key fetched, p50",
        value: quantile(colds, 0.5),
        unit: "ms",
        digits: 1,
        note: `with the three key servers' own work; a key is checked in ` +
          `${checkMs().toFixed(1)} ms`,
      },
    );
  });
  return bars;
}

/**
 * Returns how many milliseconds the check of a user key takes, which computes
 * two pairings at once.
 */
function checkMs(): number {
  const secret = newMasterSecret();
  const publicKey = publicKeyOf(secret);
  const fullId = new Uint8Array(72);
  const userKey = userKeyOf(secret, fullId);
  const beginMs = performance.now();
  for (let round = 0; round < COLD_ROUNDS; round++) {
    if (!isUserKeyOf(userKey, { fullId, publicKey })) {
      throw new Error("Cannot measure: a key is not its own");
    }
  }
  return (performance.now() - beginMs) / COLD_ROUNDS;
}
