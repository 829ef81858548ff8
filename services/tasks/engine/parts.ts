/**
 * What every part of the engine works with.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Soon } from "../../shared/settled.ts";
import type { Logger } from "../../shared/logger.ts";
import type { PlanLimits } from "../domain/records.ts";
import type { RuleCache } from "../domain/rules.ts";
import type { Store } from "../store/store.ts";
import type { Repositories } from "./repositories.ts";
import type { Sealer } from "./sealer.ts";
import type { Workers } from "./workers.ts";

/** The parts that are made once and shared. */
export interface EngineParts {
  /** Keeps everything. Commits go through the memory in front of it. */
  readonly store: Store;
  /** Typed records. */
  readonly repositories: Repositories;
  /** Workers, the service's own among them. */
  readonly workers: Workers;
  /** Makes the writes of changed tasks. */
  readonly sealer: Sealer;
  /** What is read of policies and schedules. */
  readonly ruleCache: RuleCache;
  /** The limits of a tenant's plan. */
  readonly limitsOf: (tenantId: string) => Soon<PlanLimits>;
  /** Whether a tenant's tasks are started: not while it is suspended. */
  readonly isServed: (tenantId: string) => Soon<boolean>;
  /** The time. */
  readonly clock: Clock;
  /** Gives a number from 0 to before 1. */
  readonly random: () => number;
  /** Makes ids: 26 characters that sort by time, behind the prefix. */
  readonly newId: (prefix: string) => string;
  /** Names this start of the server. */
  readonly bootId: string;
  /** Hears about faults. */
  readonly logger: Logger;
}
