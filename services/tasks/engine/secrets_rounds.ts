/**
 * Looks after what is sealed: finds out early that a master key is missing, and
 * removes secrets that were replaced long enough ago.
 *
 * @module
 */

import type { Timer } from "../../shared/clock.ts";
import { repeatEvery } from "../../shared/repeat.ts";
import { REGISTRY } from "./repositories.ts";
import type { EngineParts } from "./parts.ts";
import { expiring } from "./retired_secrets.ts";
import type { Vault } from "./vault.ts";

/** Time between two looks whether a round is due. */
const INTERVAL_MS = 60_000;
/** Time between two rounds. */
const ROUND_MS = 3_600_000;
/** Tenants whose key did not open that are looked at meanwhile. */
const MAX_REMEMBERED = 100;
/** Tenants that are looked at together. */
const PAGE = 100;
/** The pause after them, so that others get their turn. */
const PAUSE_MS = 10;

/** Options of {@linkcode SecretsRounds}. */
export interface SecretsRoundsOptions {
  /** The engine's parts. */
  readonly parts: Pick<
    EngineParts,
    "repositories" | "store" | "clock" | "logger"
  >;
  /** Knows whether the keys of tenants open. */
  readonly vault: Pick<Vault, "keyStateOf">;
}

/**
 * Goes round all tenants: at the start, once an hour, and when a key opens again
 * that did not. For that it looks at some of those each minute.
 */
export class SecretsRounds {
  readonly #options: SecretsRoundsOptions;
  #timer: Timer | undefined;
  #round: Promise<void> | undefined;
  #resume: (() => void) | undefined;
  #isStopped = false;
  #unopened = 0;
  /** Some of the tenants whose key did not open. */
  #remembered: readonly string[] = [];
  #nextMs = 0;

  /** Has seen nothing yet. */
  constructor(options: SecretsRoundsOptions) {
    this.#options = options;
  }

  /** Tenants whose key no master key opened in the last round. */
  get unopenedTenants(): number {
    return this.#unopened;
  }

  /** Begins, with a round. */
  start(): void {
    const { clock } = this.#options.parts;
    this.#begin();
    this.#timer = repeatEvery(clock, {
      intervalMs: INTERVAL_MS,
      run: () => {
        if (clock.nowMs() >= this.#nextMs) this.#begin();
        else this.#run(() => this.#lookAgain());
      },
    });
  }

  /** Ends, after the page of tenants that is being looked at. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#resume?.();
    await this.#round;
  }

  #begin(): void {
    this.#nextMs = this.#options.parts.clock.nowMs() + ROUND_MS;
    this.#run(() => this.#goRound());
  }

  #run(look: () => Promise<void>): void {
    this.#round ??= this.#safely(look).finally(() => this.#round = undefined);
  }

  /** Goes round when a key opens now that did not in the last round. */
  async #lookAgain(): Promise<void> {
    for (const id of this.#remembered) {
      const { kind } = await this.#options.vault.keyStateOf(id);
      if (kind === "fine") return await this.#goRound();
    }
  }

  async #safely(look: () => Promise<void>): Promise<void> {
    try {
      await look();
    } catch (error) {
      this.#options.parts.logger.error(
        "Cannot look after secrets: the store failed",
        { error: String(error) },
      );
    }
  }

  async #goRound(): Promise<void> {
    const { repositories, logger } = this.#options.parts;
    const missing = new Set<string>();
    const remembered: string[] = [];
    let unopened = 0;
    let afterId = "";
    while (!this.#isStopped) {
      const { values: tenants, hasMore } = await repositories.tenants.list(
        REGISTRY,
        {
          limit: PAGE,
          afterId,
        },
      );
      for (const { id, status } of tenants) {
        // What is left of one that was removed is erased by others.
        if (status === "closing") continue;
        await this.#expire(id);
        const state = await this.#options.vault.keyStateOf(id);
        if (state.kind === "fine") continue;
        unopened++;
        if (remembered.length < MAX_REMEMBERED) remembered.push(id);
        missing.add(state.masterKeyId ?? "unknown");
      }
      if (!hasMore) break;
      afterId = tenants.at(-1)?.id ?? afterId;
      await this.#pause();
    }
    if (this.#isStopped) return;
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

  /** Removes what a tenant replaced long enough ago. */
  async #expire(tenantId: string): Promise<void> {
    const { repositories, store, clock } = this.#options.parts;
    const all = await repositories.retiredSecrets.all(tenantId);
    const nowMs = clock.nowMs();
    const transactions = all.flatMap((retired) => {
      const write = expiring(retired, { repositories, nowMs });
      return write === undefined ? [] : [{ writes: [write] }];
    });
    // One that was changed meanwhile is looked at in the next round.
    if (transactions.length > 0) await store.commit(transactions);
  }

  async #pause(): Promise<void> {
    const { clock } = this.#options.parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.setTimer(resolve, PAUSE_MS);
    this.#resume = () => {
      timer.cancel();
      resolve();
    };
    await promise;
    this.#resume = undefined;
  }
}
