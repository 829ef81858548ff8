/**
 * Measures lists, counts and usage of a tenant with many tasks beside one with
 * few.
 *
 * @module
 */

import { tell } from "../../terminal.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { HttpSocket } from "../kit/http_socket.ts";
import { median } from "../kit/numbers.ts";
import type { BenchPostgres } from "../kit/postgres.ts";
import { openTasks, type TasksQueue } from "./queues.ts";
import { BATCH, consoleRequests, tenantRequest } from "./service.ts";

/** Its page takes long where all tasks are looked at. */
const OF_NO_TASK = "page and count of a tag that no task has";
const MAX_PAGE_MS = 50;

/** What is asked for; each of them has an index or a stored count. */
const QUESTIONS: readonly (readonly [name: string, path: string])[] = [
  ["first page", "tasks?limit=100"],
  ["latest created", "tasks?limit=100&sort=created_at&order=desc"],
  ["page of a status", "tasks?limit=100&status=scheduled"],
  ["page of a status that is rare", "tasks?limit=100&status=canceled"],
  ["page of a worker", "tasks?limit=100&worker=bench&order=desc"],
  ["tasks with a key", "tasks?key=rare"],
  ["tasks with a tag that is rare", "tasks?tag=rare"],
  ["page of a tag that is frequent", "tasks?limit=100&tag=frequent"],
  [OF_NO_TASK, "tasks?limit=100&tag=none&count=true"],
  ["counts of a worker", "workers/bench"],
  ["usage", "usage"],
];
/** Pages of the console, which ask several of them. */
const PAGES: readonly (readonly [name: string, path: string])[] = [
  ["console's overview", ""],
  ["console's tasks", "/tasks"],
  ["console's tasks of a status", "/tasks?status=scheduled"],
  ["console's schedules", "/schedules"],
];
const MAKERS = 4;
/** One in so many tasks is due tomorrow. */
const SCHEDULED = 5;
/** One in so many tasks has tags. */
const TAGGED = 10;
const WARM_UP = 30;
/** How often each question is asked per second of measurement. */
const ASKED_PER_SECOND = 40;

/** Measures both tenants, each in a store of its own, request by request. */
export async function measureLists(
  run: BenchRun,
  { server, tasks }: {
    /** Where the service stores; in files unless given. */
    readonly server: BenchPostgres | undefined;
    /** How many tasks the larger tenant has. */
    readonly tasks: number;
  },
): Promise<void> {
  const stored = server === undefined ? {} : { server };
  const few = await openTasks(run, { name: "few", ...stored });
  const many = await openTasks(run, { name: "many", ...stored });
  await fill(few, BATCH);
  const beginMs = performance.now();
  await fill(many, tasks);
  const tookSeconds = (performance.now() - beginMs) / 1_000;
  run.bars.push({
    name: `batch create until ${tasks.toLocaleString("en-US")} are there`,
    value: tasks / tookSeconds,
    unit: "tasks/s",
  });
  using one = await HttpSocket.connect(few.services[0]!.port);
  using other = await HttpSocket.connect(many.services[0]!.port);
  const asked = ASKED_PER_SECOND * run.values.seconds;
  const [pageOfFew, pageOfMany] = await Promise.all([few, many].map(
    ({ services, tenant }) => consoleRequests(services[0]!.port, tenant),
  ));
  const pairs = [
    ...QUESTIONS.map(([name, path]) =>
      [
        name,
        tenantRequest(few.tenant, { path }),
        tenantRequest(many.tenant, { path }),
      ] as const
    ),
    ...PAGES.map(([name, path]) =>
      [name, pageOfFew!(path), pageOfMany!(path)] as const
    ),
  ];
  for (const [name, ofFew, ofMany] of pairs) {
    const [fewMs, manyMs]: [number[], number[]] = [[], []];
    for (let round = -WARM_UP; round < asked; round++) {
      const tookMs = [await ask(one, ofFew), await ask(other, ofMany)] as const;
      if (round < 0) continue;
      fewMs.push(tookMs[0]);
      manyMs.push(tookMs[1]);
    }
    const p50Ms = [median(fewMs), median(manyMs)] as const;
    run.ratio(
      `${name}, ${tasks.toLocaleString("en-US")} tasks to 1,000`,
      p50Ms[1] / p50Ms[0],
      {
        atMost: 2,
        note: `p50 ${p50Ms[1].toFixed(2)} and ${p50Ms[0].toFixed(2)} ms`,
      },
    );
    if (name !== OF_NO_TASK) continue;
    run.bars.push({
      name: `${name}, ${tasks.toLocaleString("en-US")} tasks`,
      value: p50Ms[1],
      unit: "ms",
      digits: 2,
      atMost: MAX_PAGE_MS,
    });
  }
}

/** Creates tasks in batches, some of which are due tomorrow. */
async function fill(
  { services, tenant }: TasksQueue,
  count: number,
): Promise<void> {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const path = "tasks/batch";
  const tasks = Array.from({ length: BATCH }, (_, index) => ({
    worker: "bench",
    data: { to: `someone${index}@example.com`, text: "x".repeat(80) },
    ...(index % SCHEDULED === 0 ? { date: tomorrow } : {}),
    ...(index % TAGGED === 0 ? { tags: ["frequent", `no ${index}`] } : {}),
  }));
  const prefer = "return=minimal";
  const request = tenantRequest(tenant, { path, body: { tasks }, prefer });
  const { port } = services[0]!;
  let left = count;
  await Promise.all(
    Array.from({ length: MAKERS }, async () => {
      using socket = await HttpSocket.connect(port);
      while (left > 0) {
        left -= BATCH;
        await demand(socket, request, 200);
        if (left % 100_000 === 0) tell(`  ${left} tasks are left to make`);
      }
    }),
  );
  using socket = await HttpSocket.connect(port);
  const [task] = tasks;
  const body = { ...task, key: "rare", tags: ["rare"] };
  await demand(socket, tenantRequest(tenant, { path: "tasks", body }), 201);
}

async function ask(socket: HttpSocket, request: Uint8Array): Promise<number> {
  const sentMs = performance.now();
  await demand(socket, request, 200);
  return performance.now() - sentMs;
}

async function demand(
  socket: HttpSocket,
  request: Uint8Array,
  status: number,
): Promise<void> {
  const answer = await socket.exchange(request);
  if (answer.status === status) return;
  const text = new TextDecoder().decode(answer.body);
  throw new Error(`Cannot measure: ${answer.status} ${text.slice(0, 300)}`);
}
