/**
 * The checks at the end of a simulation, when nothing happens any longer.
 *
 * @module
 */

import { judgeDependencies } from "../../domain/dependency_rules.ts";
import {
  type HistoryDraft,
  type HistoryType,
  parseDraft,
} from "../../domain/history.ts";
import { verifyHistory } from "../../domain/testing/verify_history.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import type { Store } from "../../store/store.ts";
import { sha256 } from "../../store/digest.ts";
import { usagePeriod } from "../plan_usage.ts";
import { SIMULATED_TENANT_ID } from "./simulated_workers.ts";
import type { SimulatedWorld } from "./simulation_world.ts";
import type { TaskOwner } from "./task_owner.ts";

/**
 * The beginning of a warning that is right after a restart: an instance that
 * stops leaves tasks that others blocked to another one's reconciler.
 */
const STUCK = "The reconciler found tasks that were stuck";
/** How late a task may be at the end, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * Checks that acknowledged tasks exist, that no task is stuck, and that the
 * histories are right.
 */
export async function checkEnd(
  world: SimulatedWorld,
  owner: TaskOwner,
): Promise<void> {
  const { ledger, store } = world;
  world.senders?.checkEnd();
  for (const [id, version] of owner.acknowledged) {
    const task = await store.task(SIMULATED_TENANT_ID, id);
    if (task === undefined ? ledger.removed.has(id) : task.version >= version) {
      continue;
    }
    ledger.broken(`${id} was acknowledged as ${version} and is lost`);
  }
  for (const task of ledger.tasks.values()) {
    const reason = await stuckReason(world, task);
    if (reason !== undefined) ledger.broken(`${task.id} is stuck: ${reason}`);
    await checkHistory(world, task);
  }
  if (world.profile.isCalm) await checkCalm(world);
}

/**
 * Checks that each duty is done by an instance that runs. The instances have
 * beaten lately, since nothing is broken any longer.
 */
export function checkDuties(
  { ledger, instances, machines }: SimulatedWorld,
): void {
  const running = machines.flatMap(({ life }) => life ?? []);
  for (const life of running) {
    const id = instances.idsOf(life).at(-1) ?? "";
    const { beat, answer } = instances.answers.get(id) ?? {};
    const duties = answer?.kind === "member" ? answer.duties : [];
    for (const name of beat?.wants ?? ["to beat"]) {
      const holder = duties.find((duty) => duty.name === name)?.holder ?? "";
      const isHeld = running.some((one) =>
        instances.idsOf(one).includes(holder)
      );
      if (!isHeld) ledger.broken(`nobody runs who does ${name}, says ${id}`);
    }
  }
}

/**
 * Checks that without faults nothing had to be repaired, and that each start
 * was counted.
 */
async function checkCalm(world: SimulatedWorld): Promise<void> {
  const { ledger, store, clock, logger, fleet } = world;
  const isOfRestart = fleet.mishaps.includes("restart");
  for (const { level, message, fields } of logger.lines) {
    if (level !== "warning" && level !== "error") continue;
    if (isOfRestart && message.startsWith(STUCK)) continue;
    ledger.broken(`it was said: ${message} ${JSON.stringify(fields)}`);
  }
  for (const { id, lost } of ledger.tasks.values()) {
    if (lost > 0) ledger.broken(`${id} was lost ${lost} times`);
  }
  const period = usagePeriod(clock.nowMs());
  const { executions } = await store.usage(SIMULATED_TENANT_ID, period);
  if (executions === ledger.starts) return;
  ledger.broken(`${ledger.starts} starts, of which ${executions} were counted`);
}

/** Why a task is stuck; undefined when it is not. */
async function stuckReason(
  { store, clock }: SimulatedWorld,
  task: Task,
): Promise<string | undefined> {
  const { status, isDue, dateMs, attempt, expiresAtMs = Infinity } = task;
  const latestMs = clock.nowMs() - PATIENCE_MS;
  if (isFinal(status)) {
    return (task.purgeAtMs ?? Infinity) < latestMs
      ? "it should have been removed"
      : undefined;
  }
  if (status === "paused") return undefined;
  if (status === "running") {
    const endMs = attempt?.expiresAtMs ?? 0;
    return endMs < latestMs ? "its lease has ended" : undefined;
  }
  if (expiresAtMs < latestMs) return `it is ${status} and has expired`;
  if (status === "blocked") return await blockedReason(store, task);
  if (isDue) {
    return task.updatedAtMs < latestMs
      ? `it is due since ${dateMs}`
      : undefined;
  }
  return dateMs < latestMs
    ? `it is ${status} and its date has passed`
    : undefined;
}

async function blockedReason(
  store: Store,
  task: Task,
): Promise<string | undefined> {
  const states = await store.tasks(task.tenantId, task.dependencies);
  const { kind } = judgeDependencies(task, states);
  if (kind !== "waits") return `its dependencies are ${kind}`;
  return task.onDependencyFailure !== "run" && states.includes(undefined)
    ? "a dependency is gone"
    : undefined;
}

/** The history records that count as an execution. */
const EXECUTIONS: readonly HistoryType[] = ["succeeded", "failed", "timed_out"];
/** The history records that end an attempt. */
const ENDS: readonly HistoryType[] = [
  ...EXECUTIONS,
  "lost",
  "released",
  "waiting",
  "canceled",
];

async function checkHistory(
  { store, ledger }: SimulatedWorld,
  task: Task,
): Promise<void> {
  const { id, tenantId } = task;
  const { records } = await store.history({
    tenantId,
    taskId: id,
    order: "asc",
    limit: 100_000,
  });
  const chain = verifyHistory(records, {
    end: { count: task.historyCount, hash: task.historyHash },
    digest: sha256,
  });
  if (chain.kind === "broken") {
    ledger.broken(`${id} has a broken chain: ${chain.reason}`);
  }
  const drafts = records.map(parseDraft);
  const count = (isCounted: (draft: HistoryDraft) => boolean): number =>
    drafts.filter(isCounted).length;
  const facts: readonly (readonly [string, number, number])[] = [
    ["executions", task.executions, count(isExecution)],
    ["fence", task.fence, count(({ type }) => type === "started")],
    ["lost", task.lost, count(({ type }) => type === "lost")],
    [
      "open attempts",
      task.status === "running" ? 1 : 0,
      count(({ type }) => type === "started") -
      count(({ type, attempt }) =>
        attempt !== undefined && ENDS.includes(type)
      ),
    ],
  ];
  for (const [what, kept, told] of facts) {
    if (kept === told) continue;
    ledger.broken(`${id} has ${kept} ${what}, its history ${told}`);
  }
}

/**
 * Tells whether a record counts as an execution. The last of too many lost
 * attempts counts as a failure.
 */
function isExecution({ type, error }: HistoryDraft): boolean {
  return EXECUTIONS.includes(type) || type === "lost" && error !== undefined;
}
