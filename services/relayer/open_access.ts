/**
 * Who may call, and how often, as the settings say.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import {
  AccountResolver,
  Authenticator,
  nonceTtlMs,
} from "./auth/authenticate.ts";
import { Nonces } from "./auth/nonces.ts";
import { OwnerTokens } from "./auth/owner_tokens.ts";
import { RateLimits } from "./auth/rate_limits.ts";
import { RefusalDelay } from "./auth/refusal.ts";
import { SignatureVerifier } from "./auth/signature.ts";
import type { RelayerData } from "./open_data.ts";
import type { RelayerSettings } from "./settings.ts";

/** What lets callers in. */
export interface RelayerAccess {
  /** Checks signed requests. */
  readonly authenticator: Authenticator;
  /** Holds refusals back for a moment. */
  readonly refusalDelay: RefusalDelay;
  /** Counts points. */
  readonly rateLimits: RateLimits;
  /** Makes and checks tokens of owners; undefined when nobody gets one. */
  readonly ownerTokens: OwnerTokens | undefined;
  /** Writes down what was spent. */
  flush(): Promise<void>;
}

/** What access is made of. */
export interface OpenAccessTools {
  /** Where accounts are, and what was written down before. */
  readonly data: Pick<RelayerData, "store" | "ledger" | "storage">;
  /** The time. */
  readonly clock: Clock;
  /** Hears of what goes wrong. */
  readonly logger: Logger;
}

/** Makes it, with what an earlier life of the process wrote down. */
export async function openAccess(
  settings: RelayerSettings,
  { data: { store, ledger, storage }, clock, logger }: OpenAccessTools,
): Promise<RelayerAccess> {
  const { authWindowMs: windowMs, serviceCredential } = settings;
  const nonces = new Nonces({
    clock,
    ttlMs: nonceTtlMs(windowMs),
    // In the store's queue at once: whatever the request writes comes after it.
    persist: (nonce, expiresAtMs) => {
      store.commit([{ kind: "nonce", nonce, expiresAtMs }]).catch((error) => {
        if (storage.note(error)) return;
        logger.warn("Cannot write down that a request was let in", {
          error: describeError(error),
        });
      });
    },
  });
  nonces.load(await store.nonces(clock.nowMs()));
  const rateLimits = new RateLimits({
    clock,
    keyPerMinute: settings.ratePerKeyMinute,
    accountPerMinute: settings.ratePerAccountMinute,
    accountPerHour: settings.ratePerAccountHour,
    persist: async (windows) => {
      await store.commit(
        windows.map((window) => ({ kind: "rate", window })),
      );
    },
  });
  rateLimits.load(await store.rateWindows(rateLimits.firstMinute));
  return {
    authenticator: new Authenticator({
      clock,
      signatures: new SignatureVerifier(),
      nonces,
      accounts: new AccountResolver({ ledger, clock }),
      windowMs,
      isLegacyAllowed: settings.legacyAuth,
    }),
    refusalDelay: new RefusalDelay({ clock }),
    rateLimits,
    ownerTokens: serviceCredential === ""
      ? undefined
      : new OwnerTokens({ clock, credential: serviceCredential }),
    flush: () => rateLimits.flush(),
  };
}
