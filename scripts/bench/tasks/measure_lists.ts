/**
 * Measures what lists and counts cost with few and with many tasks stored.
 *
 * @module
 */

import type { Task, TaskStatus } from "../../../services/tasks/domain/task.ts";
import { tell } from "../../terminal.ts";
import type { Bar } from "./bar.ts";
import type { BenchRun } from "./bench_run.ts";
import type { BenchTenant } from "./bench_tenant.ts";
import { endedState } from "./fill_store.ts";
import { HttpSocket, requestBytes } from "./http_socket.ts";
import { median, quantile } from "./load_job.ts";
import { withStored } from "./measure_stored.ts";

/** Where and with what lists are measured. */
export interface ListsOptions {
  /** The folder in which data folders are made. */
  readonly folder: string;
  /** Required by a run; sends no requests here. */
  readonly load: BenchRun["load"];
}

const SMALL = 1_000;
const LARGE = 1_000_000;
const WARM_UP_ROUNDS = 30;
const ROUNDS = 150;
const BESIDE_MS = 5_000;

/**
 * Ids of workers that no longer exist; their tasks can still be listed by these
 * ids.
 */
const WORKERS = Array.from(
  { length: 4 },
  (_, index) => `wrk_${String(index).repeat(26)}`,
);
const STATUSES: readonly TaskStatus[] = [
  "waiting",
  "scheduled",
  "complete",
  "failed",
  "retry",
];
const DATE_MS = Date.UTC(2027, 0, 1);

/**
 * The requests by name. Each finds a full page however many tasks there are.
 */
const REQUESTS: Readonly<Record<string, string>> = {
  "plain": "tasks",
  "status": "tasks?status=retry",
  "window": `tasks?start=${instant(200)}&end=${instant(900)}`,
  "due": "tasks?due=true",
  "worker": `tasks?worker=${WORKERS[1]}`,
  "key": "tasks?key=often",
  "backwards": "tasks?order=desc",
  "by creation": "tasks?sort=created_at",
  "by creation, backwards": "tasks?sort=created_at&order=desc",
  "usage": "usage",
};

/**
 * A service that is measured, with the connection and tenant of the requests.
 */
interface Asked {
  readonly socket: HttpSocket;
  readonly tenant: BenchTenant;
}

/**
 * Measures lists with a thousand and with a million tasks stored, in turns, so
 * that other work on the machine slows both down alike.
 */
export async function measureLists(
  { folder, load }: ListsOptions,
): Promise<readonly Bar[]> {
  const options = { folder, load, stateOf };
  return await withStored(
    { ...options, tasks: SMALL },
    async (few) =>
      await withStored({ ...options, tasks: LARGE }, async (many) => {
        using fewSocket = await HttpSocket.connect(few.port);
        using manySocket = await HttpSocket.connect(many.port);
        const small = { socket: fewSocket, tenant: few.tenant };
        const large = { socket: manySocket, tenant: many.tenant };
        const bars: Bar[] = [];
        for (const [name, path] of Object.entries(REQUESTS)) {
          tell(`  ${name}`);
          bars.push(await compare({ name, path }, { small, large }));
        }
        bars.push(await measureBeside(large, many.port));
        return bars;
      }),
  );
}

async function compare(
  { name, path }: { readonly name: string; readonly path: string },
  { small, large }: { readonly small: Asked; readonly large: Asked },
): Promise<Bar> {
  const [fewMs, manyMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const few = await ask(small, path);
    const many = await ask(large, path);
    if (round < WARM_UP_ROUNDS) continue;
    fewMs.push(few);
    manyMs.push(many);
  }
  const [few, many] = [median(fewMs), median(manyMs)];
  return {
    name: `${path === "usage" ? name : `list, ${name}`}, 1,000,000 : 1,000`,
    atMost: 2,
    value: many / few,
    unit: "×",
    digits: 2,
    note: `${many.toFixed(2)} ms beside ${few.toFixed(2)} ms`,
  };
}

/**
 * Measures how long other requests wait while a list has to examine rows one by
 * one.
 */
async function measureBeside(large: Asked, port: number): Promise<Bar> {
  tell("  beside a list of a tag");
  using socket = await HttpSocket.connect(port);
  const endMs = performance.now() + BESIDE_MS;
  let pages = 0;
  const listing = (async () => {
    while (performance.now() < endMs) {
      await ask(large, "tasks?tag=none");
      pages++;
    }
  })();
  const waits: number[] = [];
  while (performance.now() < endMs) {
    waits.push(await ask({ ...large, socket }, "usage"));
  }
  await listing;
  const sorted = Float64Array.from(waits).sort();
  return {
    name: "usage beside a list of a tag, p99",
    value: quantile(sorted, 0.99),
    unit: "ms",
    digits: 2,
    note: `p50 ${quantile(sorted, 0.5).toFixed(2)} ms; a page of the list ${
      Math.round(BESIDE_MS / pages)
    } ms`,
  };
}

async function ask(
  { socket, tenant: { host, token } }: Asked,
  path: string,
): Promise<number> {
  const request = requestBytes({
    method: "GET",
    path: `/api/v1/${path}`,
    host,
    token,
  });
  const beginMs = performance.now();
  const { status } = await socket.exchange(request);
  if (status === 200) return performance.now() - beginMs;
  throw new Error(`Cannot measure: GET ${path} answered ${status}`);
}

/** Tasks in all statuses, with dates a millisecond apart. */
function stateOf(index: number, nowMs: number): Partial<Task> {
  const status = STATUSES[index % STATUSES.length] ?? "waiting";
  const dateMs = DATE_MS + index;
  return {
    ...(status === "complete" || status === "failed"
      ? { ...endedState(nowMs), ...(index % 4 < 2 ? { key: "often" } : {}) }
      : {}),
    status,
    workerId: WORKERS[index % 7 % WORKERS.length] ?? "",
    dateMs,
    firstDateMs: dateMs,
    slotMs: dateMs,
    // Dates are far in the future, so that the service does no work other than
    // answering.
    isDue: status === "waiting" || status === "retry" && index % 50 === 4,
    tags: ["some"],
  };
}

function instant(afterMs: number): string {
  return new Date(DATE_MS + afterMs).toISOString();
}
