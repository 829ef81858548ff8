/**
 * Maintains encrypted secrets in the background: detects early that a master
 * key is missing, and removes secrets that were replaced long enough ago.
 *
 * @module
 */

import { pause } from "../../shared/periodic.ts";
import { Maintainer, type MaintainerParts } from "./maintainer.ts";
import { REGISTRY } from "./repositories.ts";
import type { EngineParts } from "./parts.ts";
import type { TenantKeys } from "./tenant_keys.ts";
import { expiring } from "./vault.ts";

/** How often it is checked whether a round is due, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Milliseconds between two rounds. */
const ROUND_MS = 3_600_000;
/**
 * The most tenants whose key could not be decrypted that are checked again
 * between two rounds.
 */
const MAX_REMEMBERED = 100;
/** How many tenants are checked before a pause. */
const PAGE = 100;
/**
 * The pause after a page of tenants, in milliseconds, so that other work gets
 * its turn.
 */
const PAUSE_MS = 10;

interface SecretsWorkerOptions {
  readonly parts:
    & MaintainerParts
    & Pick<EngineParts, "repositories" | "store">;
  /** Tells whether the keys of tenants can be decrypted. */
  readonly keys: Pick<TenantKeys, "checkState">;
}

/**
 * Checks all tenants: at the start, once an hour, and when a key can be
 * decrypted again that could not before. To notice that, it checks some of
 * those keys each minute.
 *
 * Every instance does this, since each has master keys of its own. Replaced
 * secrets are removed by the one that holds the duty; where two do it, the
 * record's version lets one of them.
 */
export class SecretsWorker extends Maintainer {
  readonly #options: SecretsWorkerOptions;
  #unopened = 0;
  /** Some of the tenants whose key could not be decrypted. */
  #remembered: readonly string[] = [];
  #nextMs = 0;

  /** Creates the worker without starting it. */
  constructor(options: SecretsWorkerOptions) {
    super({
      parts: options.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot maintain secrets: the store failed",
    });
    this.#options = options;
  }

  /**
   * How many tenants had a key in the last round that no master key decrypted.
   */
  get unopenedTenants(): number {
    return this.#unopened;
  }

  /**
   * Checks all tenants when a round is due, or when a key can be decrypted
   * again.
   */
  override async runOnce(): Promise<void> {
    const nowMs = this.#options.parts.clock.nowMs();
    if (nowMs < this.#nextMs && !await this.#hasKeyOpenedAgain()) return;
    if (nowMs >= this.#nextMs) this.#nextMs = nowMs + ROUND_MS;
    await this.#goRound();
  }

  /**
   * Tells whether a key can be decrypted now that could not in the last round.
   */
  async #hasKeyOpenedAgain(): Promise<boolean> {
    for (const id of this.#remembered) {
      const { kind } = await this.#options.keys.checkState(id);
      if (kind === "fine") return true;
    }
    return false;
  }

  async #goRound(): Promise<void> {
    const { repositories, logger, clock } = this.#options.parts;
    const signal = this.stopping;
    const missing = new Set<string>();
    const remembered: string[] = [];
    let unopened = 0;
    for await (const tenants of repositories.tenants.pages(REGISTRY, PAGE)) {
      for (const { id, status } of tenants) {
        // The tenant eraser removes what is left of such tenants.
        if (status === "closing") continue;
        if (this.#options.parts.instances.holds("secrets")) {
          await this.#expire(id);
        }
        const state = await this.#options.keys.checkState(id);
        if (state.kind === "fine") continue;
        unopened++;
        if (remembered.length < MAX_REMEMBERED) remembered.push(id);
        missing.add(state.masterKeyId ?? "unknown");
      }
      await pause(PAUSE_MS, { clock, signal });
      if (signal.aborted) return;
    }
    if (unopened > 0 && unopened !== this.#unopened) {
      logger.warn(
        "Cannot open the keys of tenants: their secrets and signed calls fail " +
          "until the master key is back; all else works",
        { tenants: unopened, master_keys: [...missing].join(",") },
      );
    }
    if (unopened === 0 && this.#unopened > 0) {
      logger.info("The keys of all tenants open again");
    }
    this.#unopened = unopened;
    this.#remembered = remembered;
  }

  /** Removes the secrets that a tenant replaced long enough ago. */
  async #expire(tenantId: string): Promise<void> {
    const { repositories, store, clock } = this.#options.parts;
    const all = await repositories.retiredSecrets.all(tenantId);
    const nowMs = clock.nowMs();
    const transactions = all.flatMap((retired) => {
      const write = expiring(retired, { repositories, nowMs });
      return write === undefined ? [] : [{ writes: [write] }];
    });
    // A record that another request changed meanwhile is handled in the next
    // round.
    if (transactions.length > 0) await store.commit(transactions);
  }
}
