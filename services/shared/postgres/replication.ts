/**
 * Tells whether a commit is on a second server before it is answered. A service
 * that has promised so refuses to write without such a standby: the server
 * would let commits wait for ever, or not wait at all, as it is set up. Any
 * other service refuses when they have waited for long.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { Periodic } from "../periodic.ts";
import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { Runner } from "./session.ts";

/** Whether commits wait for a standby. */
export type Replication =
  /** A standby confirms each commit. */
  | { readonly kind: "synchronous" }
  /** Commits wait for no standby; a failover may lose the last ones. */
  | { readonly kind: "asynchronous" }
  /** Commits wait for a standby, and none is there. */
  | { readonly kind: "missing" }
  /** The role may not see the standbys. */
  | { readonly kind: "hidden" }
  /** The server could not be asked. */
  | { readonly kind: "unknown"; readonly reason: string };

/** Asks the server. */
const SQL = "SELECT current_setting('synchronous_standby_names') AS names, " +
  "current_setting('synchronous_commit') AS mode, " +
  "count(*) FILTER (WHERE state = 'streaming' AND " +
  "sync_state IN ('sync', 'quorum')) AS confirming, " +
  "count(*) FILTER (WHERE state IS NULL) AS hidden FROM pg_stat_replication";

/** Modes in which a commit waits until a standby has it on disk. */
const WAITING_MODES: readonly unknown[] = ["on", "remote_apply"];

/** What an answer of the server means. */
export function readReplication(
  { names, mode, confirming, hidden }: Readonly<Record<string, unknown>>,
): Replication {
  if (names === "" || !WAITING_MODES.includes(mode)) {
    return { kind: "asynchronous" };
  }
  if (Number(confirming) > 0) return { kind: "synchronous" };
  return { kind: Number(hidden) > 0 ? "hidden" : "missing" };
}

/** Options of {@linkcode ReplicationWatch}. */
interface ReplicationWatchOptions {
  /** Asks the server. */
  readonly runner: Runner;
  /** Sets the timers. */
  readonly clock: Clock;
  /** Whether writes are refused while no standby confirms commits. */
  readonly isRequired: boolean;
}

/** How often the server is asked, in milliseconds. */
const EVERY_MS = 1_000;
/** In how many looks a standby is missing until writes that may wait do not. */
const MISSED = 10;

/** Asks the server again and again. */
export class ReplicationWatch {
  readonly #options: ReplicationWatchOptions;
  readonly #asking: Periodic;
  #found: Replication = { kind: "unknown", reason: "it was not asked yet" };
  /** How many looks in turn found that a standby is missing. */
  #missed = 0;

  /** Creates the watch without starting it. */
  constructor(options: ReplicationWatchOptions) {
    this.#options = options;
    this.#asking = new Periodic({
      clock: options.clock,
      intervalMs: EVERY_MS,
      run: () => this.#ask(),
      onError: (error) => {
        this.#found = { kind: "unknown", reason: describeError(error) };
      },
    });
  }

  /** Asks for the first time, and goes on asking. */
  async start(): Promise<void> {
    this.#asking.start();
    await this.#asking.runOnce();
  }

  /** Asks no more. */
  async stop(): Promise<void> {
    await this.#asking.stop();
  }

  /**
   * Lets a write pass.
   *
   * @throws {NotReplicatedError} when a standby is required and none confirms;
   * else when one has been missing for ten seconds. A commit that waits for it
   * keeps a connection of the server, also when it was given up here
   */
  demand(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  /** What the operator should know; undefined when commits are on two servers. */
  get note(): string | undefined {
    const refusal = this.#refusal();
    if (refusal !== undefined) return refusal.message;
    return this.#found.kind === "asynchronous"
      ? "commits wait for no standby: a failover may lose the last ones"
      : undefined;
  }

  #refusal(): NotReplicatedError | undefined {
    const mayPass = this.#options.isRequired
      ? this.#found.kind === "synchronous"
      : this.#missed < MISSED;
    return mayPass ? undefined : new NotReplicatedError(this.#found);
  }

  async #ask(): Promise<void> {
    const [row = {}] = await this.#options.runner.query(SQL);
    this.#found = readReplication(row);
    this.#missed = this.#found.kind === "missing" ? this.#missed + 1 : 0;
  }
}

/** A write was refused, since no standby would have it. Nothing was written. */
export class NotReplicatedError extends StoreFailedError {
  /** An error that says why. */
  constructor(found: Replication) {
    super(`Cannot write: ${describeLack(found)}`);
  }
}

function describeLack(found: Replication): string {
  switch (found.kind) {
    case "synchronous":
      return "a standby is required";
    case "asynchronous":
      return "the database's commits wait for no standby; set " +
        "synchronous_standby_names, and synchronous_commit to on";
    case "missing":
      return "no synchronous standby is connected to the database";
    case "hidden":
      return "the role may not see the standbys; grant it pg_read_all_stats";
    case "unknown":
      return "the database could not be asked for its standbys";
  }
}
