/**
 * Judges alerts by the kept counts, and tells once that one is raised, and once
 * that it is over. Its message is a task of the service's own worker, written
 * in the commit of its state: so it is tried again like the deliveries of
 * webhooks, and none is lost or doubled.
 *
 * @module
 */

import { isRaised } from "../../domain/alert_rule.ts";
import type { Alert } from "../../domain/records.ts";
import { NO_ACTIVITY } from "../../store/kept_counts.ts";
import type { Store, Write } from "../../store/store.ts";
import { ACTIVITY_STEPS, floorTo } from "../activity.ts";
import type { TaskChanges } from "../changes.ts";
import { Maintainer } from "../maintainer.ts";
import type { EngineParts } from "../parts.ts";
import { serviceWrite } from "../record_writes.ts";
import { REGISTRY } from "../repositories.ts";
import { internalTask } from "../task_writes.ts";
import { internalTenant } from "../workers.ts";
import { alertBody, alertData, type AlertFacts } from "./alert_message.ts";
import {
  ALERTS_PREFIX,
  type AlertState,
  alertStateWrite,
  readAlertState,
} from "./alert_state.ts";

/** The time between two looks, in milliseconds. */
const INTERVAL_MS = 15_000;
/** How many tenants are read at once. */
const PAGE = 100;
/** The longest time that is judged by minutes. */
const BY_MINUTE_MS = 3_600_000;

interface AlertWatchOptions {
  readonly parts: EngineParts;
  /** Announces the messages. */
  readonly changes: Pick<TaskChanges, "announce">;
}

/** Judges the alerts of all tenants. One instance does it. */
export class AlertWatch extends Maintainer {
  readonly #options: AlertWatchOptions;

  /** Creates the watch without starting it. */
  constructor(options: AlertWatchOptions) {
    super({
      parts: options.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot judge alerts: the store failed",
      duty: "alerts",
    });
    this.#options = options;
  }

  /** Judges all alerts once. */
  override async runOnce(): Promise<void> {
    const { store } = this.#options.parts;
    let afterId = ALERTS_PREFIX;
    let hasMore = true;
    while (hasMore && !this.stopping.aborted) {
      const page = await store.records({
        kind: "service",
        tenantId: REGISTRY,
        limit: PAGE,
        afterId,
      });
      const marks = page.records.filter(({ id }) =>
        id.startsWith(ALERTS_PREFIX)
      );
      for (const mark of marks) {
        if (this.stopping.aborted) return;
        if (await this.#judgeAll(mark.text)) continue;
        // It conflicts where an alert is being made.
        const write = serviceWrite(mark, undefined, mark.version);
        await store.commit([{ writes: [write] }]);
      }
      hasMore = page.hasMore && marks.length === page.records.length;
      afterId = page.records.at(-1)?.id ?? "";
    }
  }

  /** Judges a tenant's alerts. Returns true when the tenant has alerts. */
  async #judgeAll(tenantId: string): Promise<boolean> {
    const { repositories } = this.#options.parts;
    const alerts = await repositories.alerts.all(tenantId);
    for (const alert of alerts) {
      if (alert.isEnabled) await this.#judge(alert);
    }
    return alerts.length > 0;
  }

  async #judge(alert: Alert): Promise<void> {
    const { parts } = this.#options;
    const { store, clock } = parts;
    const nowMs = clock.nowMs();
    const { when: { over, withinMs }, updatedAtMs, quietMs } = alert;
    const { state, version } = await readAlertState(store, alert);
    const { raisedAtMs, toldAtMs = -Infinity } = state;
    // Before that, there was nothing that it could have waited for.
    if (over === undefined && nowMs - updatedAtMs < withinMs) return;
    const counted = await countFor(store, alert, nowMs);
    const isNow = isRaised(alert.when, counted);
    if (isNow === (raisedAtMs !== undefined)) return;
    if (isNow && nowMs - toldAtMs < quietMs) return;
    const facts: AlertFacts = {
      ...await describePlace(parts, alert),
      news: isNow ? "raised" : "resolved",
      id: parts.newId("evt"),
      counted,
      atMs: nowMs,
    };
    const { task, write } = internalTask({
      workerId: alert.id,
      job: `alert.${facts.news}`,
      group: alert.id,
      dataJson: alertBody(alert, facts),
      // That it is over is told after that it was raised.
      dependencies: state.lastTask === undefined ? [] : [state.lastTask],
      onDependencyFailure: "run",
    }, { tenantId: internalTenant(alert.tenantId), parts });
    const next: AlertState = {
      raisedAtMs: isNow ? nowMs : undefined,
      toldAtMs: isNow ? nowMs : state.toldAtMs,
      lastTask: task.id,
    };
    const [result] = await store.commit([{
      writes: [
        alertStateWrite(alert, next, version),
        write,
        eventWrite(alert, facts),
      ],
    }]);
    // Otherwise another instance has told it, or the alert has changed.
    if (result?.kind === "ok") this.#options.changes.announce(undefined, task);
  }
}

/** What was counted for an alert, up to an instant. */
async function countFor(
  store: Pick<Store, "activity">,
  { tenantId, when }: Alert,
  nowMs: number,
): Promise<number> {
  const { count, withinMs, workerId = "", job = "" } = when;
  const [minutes, others] = ACTIVITY_STEPS;
  const { stepMs } = withinMs <= BY_MINUTE_MS ? minutes : others;
  const points = await store.activity({
    tenantId,
    series: { workerId, job },
    stepMs,
    fromMs: floorTo(nowMs - withinMs, stepMs),
    toMs: nowMs + 1,
  });
  return points.reduce((sum, point) => sum + point[count], NO_ACTIVITY[count]);
}

/** Where an alert belongs, in the words of people. */
export async function describePlace(
  { repositories, workers }: EngineParts,
  { tenantId, when: { workerId } }: Alert,
): Promise<Pick<AlertFacts, "tenant" | "worker">> {
  const [tenant, worker] = await Promise.all([
    repositories.tenants.get(REGISTRY, tenantId),
    workerId === undefined ? undefined : workers.get(tenantId, workerId),
  ]);
  return { tenant: tenant?.domain ?? "", worker: worker?.name ?? workerId };
}

function eventWrite(alert: Alert, facts: AlertFacts): Write {
  return {
    kind: "event",
    tenantId: alert.tenantId,
    type: `alert.${facts.news}`,
    atMs: facts.atMs,
    text: JSON.stringify(alertData(alert, facts)),
  };
}
