/**
 * The parts of the service that the routes' handlers share.
 *
 * @module
 */

import type { PushCaller } from "../delivery/push_call.ts";
import type { CallRules } from "../delivery/call_rules.ts";
import type { Engine } from "../engine/engine.ts";
import type { Vault } from "../engine/vault.ts";
import type { Cursors } from "../http/page.ts";
import type { PlanBook } from "../engine/plan_book.ts";
import type { ReadinessReport } from "../../shared/http/readiness.ts";

/** The parts that are made once and shared by all handlers. */
export interface ApiParts {
  /**
   * Runs the tasks; `engine.parts` has the store, the repositories and the
   * clock.
   */
  readonly engine: Engine;
  /** Seals and opens secrets. */
  readonly vault: Vault;
  /** Plans and prices. */
  readonly plans: PlanBook;
  /** Signs and reads the cursors of pages. */
  readonly cursors: Cursors;
  /** Makes push calls, which the route that tests a worker needs. */
  readonly caller: PushCaller;
  /** The rules that URLs of push workers must meet. */
  readonly targets: CallRules;
  /** The issuer of the tokens of users; absent when none are accepted. */
  readonly issuer?: string | undefined;
  /** The rules for creating tenants. */
  readonly accounts: AccountRules;
  /** Checks whether the service is ready, by the name of each checked part. */
  readonly readiness: () => Promise<ReadinessReport>;
  /** Whether this instance is about to stop, so that others are to be asked. */
  readonly isStopping: () => boolean;
  /**
   * Whether a crash of the machine may lose writes that were answered just
   * before (`relaxed`), or not (`strict`), nor its loss (`replicated`).
   */
  readonly durability: "strict" | "relaxed" | "replicated";
  /**
   * How many milliseconds after its date a run of a schedule may begin and
   * still be on time, unless the schedule says it.
   */
  readonly onTimeMs: number;
  /** Longest body of a batch of tasks, in bytes. */
  readonly maxBatchBytes: number;
}

/** The rules for creating tenants. */
interface AccountRules {
  /** Who may create a tenant: the public, bearers of a token, or neither. */
  readonly mode: "open" | "token" | "closed";
  /** Digests of the tokens that may create tenants in the mode "token". */
  readonly tokenDigests: readonly string[];
  /** How many tenants one address may create in an hour, in the mode "open". */
  readonly perHour: number;
  /**
   * How many instances of the service share out the limit.
   *
   * @default one
   */
  readonly liveInstances?: () => number;
  /** The host whose subdomains are the tenants, without a port. */
  readonly serviceHost: string;
}
