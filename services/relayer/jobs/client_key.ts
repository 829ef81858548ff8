/**
 * Keys that clients give their requests: the same request with the same key is
 * the same request, however often it comes.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { KeyClaim } from "../store/store.ts";
import type { RelayerVault } from "../vault/vault.ts";
import type { NewText } from "./intake.ts";
import { DEFAULT_IMPORTANCE } from "./job_sealer.ts";

/** Makes the claim that jobs were made for a key. */
export type ClaimMaker = (jobIds: readonly string[]) => KeyClaim;

/** Options of {@linkcode claimMaker}. */
export interface ClaimMakerOptions {
  /**
   * The key.
   * @default there is none
   */
  readonly idempotencyKey?: string;
  /** Makes digests. */
  readonly vault: Pick<RelayerVault, "digest">;
  /** The time. */
  readonly clock: Clock;
  /**
   * How long the key is known, in milliseconds.
   *
   * @default {86400000}
   */
  readonly keyLifeMs?: number;
  /**
   * Asked between steps of long work.
   * @default it goes on until it is done
   */
  readonly pausing?: Pausing | undefined;
}

const DEFAULT_KEY_LIFE_MS = 24 * 3_600_000;

/** What makes claims of a request's key; undefined when it has none. */
export async function claimMaker(
  owner: string,
  texts: readonly NewText[],
  options: ClaimMakerOptions,
): Promise<ClaimMaker | undefined> {
  const { idempotencyKey, vault, clock, pausing } = options;
  const { keyLifeMs = DEFAULT_KEY_LIFE_MS } = options;
  if (idempotencyKey === undefined) return undefined;
  const text = fingerprintText(texts);
  await pausing?.pause();
  const fingerprint = await vault.digest(owner, text);
  await pausing?.pause();
  // Clients make their keys of the text, so the key could betray it.
  const key = await vault.digest(owner, `idempotency key\n${idempotencyKey}`);
  const expiresAtMs = clock.nowMs() + keyLifeMs;
  return (jobIds) => ({ owner, key, fingerprint, jobIds, expiresAtMs });
}

/** What has to be the same for two requests to be the same. */
function fingerprintText(texts: readonly NewText[]): string {
  return JSON.stringify(
    texts.map(({ text, namespace, importance, metadata, supersedes }) => [
      namespace,
      text,
      importance ?? DEFAULT_IMPORTANCE,
      Object.entries(metadata ?? {}).sort(([a], [b]) => a < b ? -1 : 1),
      supersedes ?? null,
    ]),
  );
}
