/**
 * Whether a service takes requests, as a balancer asks: the state of each part
 * that it needs, which all who ask at a time share.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { InstanceStore } from "../instance_store.ts";
import type { Instances } from "../instances.ts";
import type { Logger } from "../logger.ts";
import { NotReplicatedError } from "../postgres/replication.ts";
import { describeError, settle, waitAtMost } from "../settled.ts";

/** The state of one part that the service needs. */
export interface Readiness {
  /** Whether the part works. */
  readonly isReady: boolean;
  /** What is wrong, or what the operator should know. */
  readonly detail?: string;
}

/** The state of every part that the service needs, by name. */
export type ReadinessReport = Readonly<Record<string, Readiness>>;

/** The state of an instance after SIGTERM, while it still answers. */
const STOPPING: Readiness = { isReady: false, detail: "it is stopping" };

/** The state of an instance that others may take for dead. */
const FENCED: Readiness = {
  isReady: false,
  detail: "its signs of life do not reach the store, so others take over",
};

/** How long a readiness report is reused, in milliseconds. */
const REPORT_MS = 1_000;

/** How long making a report may take, in milliseconds. */
const REPORT_TIMEOUT_MS = 8_000;

/** What every service with a store needs. */
interface NeededStore {
  /** Must be readable and writable. */
  readonly store: Pick<InstanceStore<never>, "check">;
  /** Knows whether this instance may act. */
  readonly instances: Pick<Instances, "mayAct">;
  /** Logs why the store is not ready. */
  readonly logger: Logger;
  /**
   * Tells what callers may know of an error of the store.
   *
   * @default nothing
   */
  readonly describe?: (error: unknown) => string | undefined;
}

/** Checks the store, and whether this instance is alive for the others. */
export async function storeReadiness(
  { store, instances, logger, describe = () => undefined }: NeededStore,
): Promise<ReadinessReport> {
  const checked = await settle(() => store.check());
  const mayAct = await instances.mayAct();
  const others = mayAct ? {} : { instance: FENCED };
  if (checked.kind === "ok") {
    const detail = checked.value;
    return {
      store: { isReady: true, ...(detail === undefined ? {} : { detail }) },
      ...others,
    };
  }
  const { error } = checked;
  // The reason names files and servers, so it is logged and not shown to
  // anonymous callers.
  logger.warn("Cannot use the store: it is not ready", {
    reason: describeError(error),
  });
  const detail = error instanceof NotReplicatedError
    ? error.message
    : describe(error) ?? "it cannot be read or written";
  return { store: { isReady: false, detail }, ...others };
}

/** Options of {@linkcode ReadinessCheck}. */
interface ReadinessOptions {
  /** Makes a report; may throw. */
  readonly ask: () => Promise<ReadinessReport>;
  /** Whether this instance is about to stop. */
  readonly isStopping: () => boolean;
  /** Tells the age of a report. */
  readonly clock: Clock;
}

/** What an answer to a balancer says. */
export interface ReadinessAnswer {
  /** The checks, as callers see them. */
  readonly checks: Readonly<
    Record<string, { readonly ready: boolean; readonly detail?: string }>
  >;
  /** Why the service takes no requests; undefined when it does. */
  readonly fault: string | undefined;
}

/** Checks readiness once for all callers who ask at the same time. */
export class ReadinessCheck {
  readonly #options: ReadinessOptions;
  #underWay: Promise<ReadinessReport> | undefined;
  #last:
    | { readonly report: ReadinessReport; readonly atMs: number }
    | undefined;

  /** Nothing is checked yet. */
  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** The state now or a moment ago; never rejects. */
  async report(): Promise<ReadinessReport> {
    const ageMs = this.#options.clock.nowMs() - (this.#last?.atMs ?? -Infinity);
    const report = this.#last !== undefined && ageMs >= 0 && ageMs < REPORT_MS
      ? this.#last.report
      : await (this.#underWay ??= this.#renewed().finally(() =>
        this.#underWay = undefined
      ));
    // Not remembered for a second as the others are: a balancer that asks now
    // is to send no further requests.
    return this.#options.isStopping()
      ? { ...report, instance: STOPPING }
      : report;
  }

  /** The state as an answer tells it. */
  async answer(): Promise<ReadinessAnswer> {
    const report = Object.entries(await this.report());
    const failing = report.filter(([, { isReady }]) => !isReady)
      .map(([name]) => name);
    return {
      checks: Object.fromEntries(
        report.map((
          [name, { isReady: ready, ...facts }],
        ) => [name, { ready, ...facts }]),
      ),
      fault: failing.length === 0
        ? undefined
        : `Cannot serve: ${failing.join(", ")} not ready`,
    };
  }

  async #renewed(): Promise<ReadinessReport> {
    const { clock, ask } = this.#options;
    const outcome = await waitAtMost(settle(ask), {
      clock,
      timeoutMs: REPORT_TIMEOUT_MS,
    });
    const report = outcome === "late"
      ? failing("it did not answer in time")
      : outcome.kind === "ok"
      ? outcome.value
      : failing(describeError(outcome.error));
    this.#last = { report, atMs: clock.nowMs() };
    return report;
  }
}

function failing(detail: string): ReadinessReport {
  return { readiness: { isReady: false, detail } };
}
