/**
 * What the routes' handlers work with.
 *
 * @module
 */

import type { CredentialCache, KeyCredential } from "../access/credential.ts";
import type { PushCaller } from "../delivery/push_call.ts";
import type { CallRules } from "../delivery/call_rules.ts";
import type { Engine } from "../engine/engine.ts";
import type { Vault } from "../engine/vault.ts";
import type { Cursors } from "../http/page.ts";
import type { MirrorSettling } from "../engine/mirroring/mirror_worker.ts";
import type { PlanBook } from "../engine/plan_book.ts";
import type { WorkerCredential } from "../domain/records.ts";

/** The parts that are made once and shared by all handlers. */
export interface ApiParts {
  /** Runs the tasks; `engine.parts` has the store, the repositories and the clock. */
  readonly engine: Engine;
  /** Seals and opens secrets. */
  readonly vault: Vault;
  /** Plans and prices. */
  readonly plans: PlanBook;
  /** Seals the places where pages go on. */
  readonly cursors: Cursors;
  /** Makes push calls, here for trying a worker. */
  readonly caller: PushCaller;
  /** What push workers' addresses are judged by. */
  readonly targets: CallRules;
  /** API keys in memory; told when one is changed or revoked. */
  readonly apiKeys: CredentialCache<KeyCredential>;
  /** Workers' credentials in memory; told when one is revoked. */
  readonly workerCredentials: CredentialCache<WorkerCredential>;
  /** Mirrors users at the identity provider; absent when nothing is mirrored. */
  readonly mirrorSettling?: MirrorSettling | undefined;
  /** The issuer of the tokens of users; absent when none are accepted. */
  readonly issuer?: string | undefined;
  /** How accounts are made. */
  readonly accounts: AccountRules;
  /** Whether the service is ready, by the name of what was asked. */
  readonly readiness: () => Promise<Readonly<Record<string, Readiness>>>;
  /** How durable an answered write is. */
  readonly durability: "strict" | "relaxed";
  /** Longest body of a batch of tasks, in bytes. */
  readonly maxBatchBytes: number;
}

/** How accounts are made. */
interface AccountRules {
  /** Who may make one. */
  readonly mode: "open" | "token" | "closed";
  /** Digests of the tokens that may, in the mode "token". */
  readonly tokenDigests: readonly string[];
  /** Accounts that one address may make in an hour, in the mode "open". */
  readonly perHour: number;
  /** The host whose subdomains are the tenants, without a port. */
  readonly serviceHost: string;
}

/** The state of one thing the service needs. */
export interface Readiness {
  /** Whether it does its work. */
  readonly isReady: boolean;
  /** What is the matter, or what is worth knowing. */
  readonly detail?: string;
}
