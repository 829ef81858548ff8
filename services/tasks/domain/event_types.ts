/**
 * The types of a tenant's events, and what they are made of: records of
 * histories, entries of audit logs, and what the engine finds out by itself.
 *
 * @module
 */

import type { HistoryType } from "./history.ts";

/** What an event is about; who may read that may see the event. */
export type EventSubject =
  | "tasks"
  | "workers"
  | "account"
  | "audit"
  | "webhooks";

/** All types, with what they are about and what they mean. */
const TYPES = {
  "task.created": ["tasks", "A task was created"],
  "task.updated": ["tasks", "A caller changed a task, or its date moved"],
  "task.due": ["tasks", "A task's date has come: it waits for its worker"],
  "task.started": ["tasks", "A worker has a lease, or a push call began"],
  "task.progress": ["tasks", "The worker reported its progress"],
  "task.succeeded": ["tasks", "An attempt succeeded"],
  "task.retrying": ["tasks", "An attempt failed, and another one follows"],
  "task.failed": ["tasks", "A run failed for good"],
  "task.lost": ["tasks", "The lease of an attempt ended without a report"],
  "task.released": ["tasks", "The worker gave the task back"],
  "task.waiting": ["tasks", "A task waits for an event or an approval"],
  "task.repeated": ["tasks", "A repeating task got its next date"],
  "task.missed": ["tasks", "Runs of a schedule were left out"],
  "task.slipped": ["tasks", "A run began late, or outlasted its interval"],
  "task.completed": ["tasks", "A task has ended well"],
  "task.canceled": ["tasks", "A task was canceled"],
  "task.expired": ["tasks", "A task was not started in its time"],
  "task.paused": ["tasks", "A task was paused"],
  "task.resumed": ["tasks", "A task that was paused or waited goes on"],
  "task.unblocked": ["tasks", "All that a task depends on has ended"],
  "task.requeued": ["tasks", "A task is to run once more"],
  "task.removed": ["tasks", "A caller removed a task"],
  "calendar.changed": ["tasks", "A calendar was created, changed or removed"],
  "worker.created": ["workers", "A worker was created"],
  "worker.updated": ["workers", "A worker was changed"],
  "worker.removed": ["workers", "A worker was removed"],
  "worker.paused": ["workers", "A worker was paused"],
  "worker.resumed": ["workers", "A paused worker goes on"],
  "worker.stale": ["workers", "Tasks wait, and the worker asks for none"],
  "worker.recovered": ["workers", "A stale worker asks for tasks again"],
  "quota.near": ["account", "80 % of what the plan allows are used"],
  "quota.reached": ["account", "All that the plan allows is used"],
  "account.changed": ["audit", "The tenant was changed"],
  "secret.changed": ["audit", "A secret of a worker was set or removed"],
  "user.changed": ["audit", "A user was added, changed or removed"],
  "key.changed": ["audit", "A key or credential was made or ended"],
  "webhook.changed": ["webhooks", "A webhook was created, changed or removed"],
  "webhook.disabled": ["webhooks", "A webhook is no longer told of events"],
  "alert.raised": ["webhooks", "The condition of an alert has come true"],
  "alert.resolved": ["webhooks", "The condition of an alert is over"],
  "alert.changed": ["webhooks", "An alert was created, changed or removed"],
  "webhook.missed": ["webhooks", "Events were gone before a webhook got them"],
} as const satisfies Readonly<
  Record<string, readonly [EventSubject, string]>
>;

/** The type of an event. */
export type EventType = keyof typeof TYPES;

/** All types of events. */
export const EVENT_TYPES: readonly EventType[] = Object.keys(
  TYPES,
) as EventType[];

/** What an event of a type is about. */
export function subjectOf(type: EventType): EventSubject {
  return TYPES[type][0];
}

/** What an event of a type means, for people. */
export function meaningOf(type: EventType): string {
  return TYPES[type][1];
}

/**
 * The event of each type of history record. A record without one is told with
 * those of the same commit: that an attempt failed, with what follows from it.
 */
const OF_HISTORY: Readonly<Record<HistoryType, EventType | undefined>> = {
  created: "task.created",
  updated: "task.updated",
  moved: "task.updated",
  due: "task.due",
  started: "task.started",
  progress: "task.progress",
  log: undefined,
  accepted: undefined,
  succeeded: "task.succeeded",
  failed: undefined,
  timed_out: undefined,
  lost: "task.lost",
  released: "task.released",
  waiting: "task.waiting",
  received: undefined,
  retrying: "task.retrying",
  repeated: "task.repeated",
  missed: "task.missed",
  slipped: "task.slipped",
  completed: "task.completed",
  exhausted: "task.failed",
  canceled: "task.canceled",
  expired: "task.expired",
  paused: "task.paused",
  resumed: "task.resumed",
  unblocked: "task.unblocked",
  requeued: "task.requeued",
  spawned: undefined,
  repaired: "task.requeued",
  callback_sent: undefined,
  callback_failed: undefined,
  folded: undefined,
};

/** The event that a record of a history is, if it is one. */
export function eventOfHistory(type: HistoryType): EventType | undefined {
  return OF_HISTORY[type];
}

/** The events of actions whose names begin so. */
const OF_ACTIONS: ReadonlyMap<string, EventType> = new Map([
  ["account", "account.changed"],
  ["alert", "alert.changed"],
  ["tenant", "account.changed"],
  ["calendar", "calendar.changed"],
  ["credential", "key.changed"],
  ["key", "key.changed"],
  ["secret", "secret.changed"],
  ["signing", "secret.changed"],
  ["user", "user.changed"],
  ["webhook", "webhook.changed"],
]);

/** The event that an action of an audit log is, if it is one. */
export function eventOfAction(action: string): EventType | undefined {
  return isEventType(action)
    ? action
    : OF_ACTIONS.get(action.slice(0, action.indexOf(".")));
}

/** Whether a text is the type of an event. */
export function isEventType(text: string): text is EventType {
  return Object.hasOwn(TYPES, text);
}

/**
 * The types that patterns select: names, and names whose last part is `*`, such
 * as `task.*`; undefined where one of them selects nothing.
 */
export function selectTypes(
  patterns: readonly string[],
): ReadonlySet<EventType> | undefined {
  const selected = new Set<EventType>();
  for (const pattern of patterns) {
    const found = EVENT_TYPES.filter((type) =>
      pattern === "*" || pattern === type ||
      pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1))
    );
    if (found.length === 0) return undefined;
    for (const type of found) selected.add(type);
  }
  return selected;
}
