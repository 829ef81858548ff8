/**
 * Checks whether tasks are as the service has acknowledged them, and whether
 * each agrees with its history.
 *
 * @module
 */

import type { HistoryJson, TaskJson, TasksClient } from "../tasks_client.ts";
import type { Acknowledged, KnownTask } from "./acknowledged.ts";

/** The client of a check, and what was acknowledged. */
export interface VerifyContext {
  /** Sends the requests. */
  readonly client: TasksClient;
  /** What the service has acknowledged; faults are added to it. */
  readonly known: Acknowledged;
}

const AT_ONCE = 16;
const ENDINGS: readonly string[] = [
  "succeeded",
  "failed",
  "timed_out",
  "lost",
  "released",
  "waiting",
  "canceled",
];

/** Checks the current state of each task. */
export async function verifyTasks(
  context: VerifyContext,
  tasks: Iterable<KnownTask>,
): Promise<void> {
  await forEach(tasks, async (known) => {
    context.known.check(known, await readTask(context, known.id));
  });
}

/** Checks the state and the history of each task after all work is done. */
export async function verifyEnds(context: VerifyContext): Promise<void> {
  const { known } = context;
  await forEach(known.tasks.values(), async (one) => {
    const task = await readTask(context, one.id);
    known.check(one, task);
    if (task === undefined) return;
    const fault = endFault(one, task) ??
      historyFault(one, { task, history: await readHistory(context, one.id) });
    if (fault !== undefined) known.fault(`${one.id} ${fault}`);
  });
}

function endFault(known: KnownTask, task: TaskJson): string | undefined {
  if (task.status === "canceled") return undefined;
  if (task.status !== "complete") {
    return `is stuck as ${task.status}: ${JSON.stringify(task)}`;
  }
  return task.executions < known.runs
    ? `ran ${task.executions} times in place of ${known.runs}`
    : undefined;
}

function historyFault(
  { runs, reports, events }: KnownTask,
  { task, history }: {
    readonly task: TaskJson;
    readonly history: readonly HistoryJson[];
  },
): string | undefined {
  const broken = history.find(({ seq, prev }, index) =>
    seq !== index + 1 || prev !== (history[index - 1]?.hash ?? "")
  );
  if (broken !== undefined) return `has a broken history at ${broken.seq}`;
  const missing = reports.find(({ lease, type }) =>
    !history.some((record) => record.attempt === lease && record.type === type)
  );
  if (missing !== undefined) {
    return `was refused its ${missing.type} by ${missing.lease}`;
  }
  for (const data of events) {
    const told = (type: string): number =>
      history.filter((record) => record.type === type && record.result === data)
        .length;
    const [kept, taken] = [told("received"), told("resumed")];
    if (kept > 1 || taken > 1 || kept + taken === 0) {
      return `was sent the event ${data}, kept ${kept} and taken ${taken} times`;
    }
  }
  const types = history.map(({ type }) => type);
  const story = types.join(" ");
  if (history.at(-1)?.status !== task.status) {
    return `is ${task.status} and its history ends otherwise: ${story}`;
  }
  const successes = types.filter((type) => type === "succeeded").length;
  if (task.status === "complete" && successes !== runs) {
    return `succeeded ${successes} times in place of ${runs}: ${story}`;
  }
  return attemptFault(types)
    ? `has attempts that overlap: ${story}`
    : undefined;
}

/**
 * Returns true when attempts overlap, end without having started, or have no
 * end.
 */
function attemptFault(types: readonly string[]): boolean {
  let isRunning = false;
  for (const type of types) {
    if (type === "started") {
      if (isRunning) return true;
      isRunning = true;
    } else if (ENDINGS.includes(type)) {
      // A waiting task can be canceled, too.
      if (!isRunning && type !== "canceled") return true;
      isRunning = false;
    }
  }
  return isRunning;
}

async function readTask(
  { client, known }: VerifyContext,
  id: string,
): Promise<TaskJson | undefined> {
  const path = `/api/v1/tasks/${id}`;
  const { status, json } = await client.call<TaskJson>("GET", path);
  if (status === 200) return json;
  if (status !== 404) known.fault(`${path} answered ${status}`);
  return undefined;
}

async function readHistory(
  { client }: VerifyContext,
  id: string,
): Promise<readonly HistoryJson[]> {
  const records: HistoryJson[] = [];
  let cursor = "";
  do {
    const page = await client.expect<
      { readonly data: readonly HistoryJson[]; readonly next: string | null }
    >(200, [
      "GET",
      `/api/v1/tasks/${id}/history?limit=200${cursor}`,
    ]);
    records.push(...page.data);
    cursor = page.next === null
      ? ""
      : `&cursor=${encodeURIComponent(page.next)}`;
  } while (cursor !== "");
  return records;
}

async function forEach<Item>(
  items: Iterable<Item>,
  look: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
        await look(item);
      }
    }),
  );
}
