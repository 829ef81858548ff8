/**
 * Tells in the log why the identity provider is not at our service: the answer
 * to a stranger who asks for readiness does not say it.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type {
  IdentityProvider,
  ReadinessOutcome,
} from "./identity_provider.ts";

/** Options of {@linkcode ProviderWatch}. */
export interface ProviderWatchOptions {
  /** The provider that is asked. */
  readonly provider: Pick<IdentityProvider, "check">;
  /** Hears of each reason once, and when it is well again. */
  readonly logger: Logger;
}

/** Asks an identity provider and logs when the answer changes. */
export class ProviderWatch {
  readonly #options: ProviderWatchOptions;
  #reason: string | undefined;

  /** A watch over a provider that is taken to be well. */
  constructor(options: ProviderWatchOptions) {
    this.#options = options;
  }

  /** Asks the provider. */
  async check(): Promise<ReadinessOutcome> {
    const { provider, logger } = this.#options;
    const outcome = await provider.check();
    const reason = outcome.kind === "ok" ? undefined : outcome.reason;
    if (reason === this.#reason) return outcome;
    this.#reason = reason;
    if (reason === undefined) {
      logger.info("The identity provider is ready again");
    } else {
      logger.warn("Cannot use the identity provider: it is not ready", {
        reason,
      });
    }
    return outcome;
  }
}
