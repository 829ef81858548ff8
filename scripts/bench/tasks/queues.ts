/**
 * The queues that are measured beside each other: the tasks service on SQLite
 * and on PostgreSQL, and others on the same PostgreSQL.
 *
 * @module
 */

import { tell, toMessage } from "../../terminal.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { startRedis } from "../kit/clients.ts";
import type { MeasuredProcess } from "../kit/measured_process.ts";
import type { BenchPostgres } from "../kit/postgres.ts";
import { LOST_STARTS, WITHOUT_NOTICES } from "./instance_program.ts";
import type { LoadThread } from "./load_thread.ts";
import { askDrain, PEER_ADD, PEER_BATCH, startPeer } from "./peers.ts";
import {
  batchRequest,
  type BenchTenant,
  createRequests,
  makeTenant,
  prepareTasks,
  startTasks,
  type TasksService,
} from "./service.ts";

/** The service on a file. */
export const SQLITE = "SQLite";
/** One instance of the service. */
export const ONE = "PostgreSQL, one instance";
/** Three instances on one database. */
export const THREE = "PostgreSQL, three instances";
/** pg-boss, which takes and completes a hundred jobs at a time. */
export const PG_BOSS = "pg-boss";
/** Graphile Worker, with its local queue and batched completion. */
export const GRAPHILE = "Graphile Worker";
/** BullMQ, on a Redis that has each command on disk before it answers. */
export const BULLMQ = "BullMQ";

/** A queue that is measured. */
export interface Queue {
  /** Its name. */
  readonly name: string;
  /** Its processes, any of which takes any request. */
  readonly processes: readonly MeasuredProcess[];
  /** The requests that add one task, taken in turns; answered 201. */
  readonly adds: readonly Uint8Array[];
  /** A request that adds a thousand tasks, and its status. */
  readonly batch: readonly [request: Uint8Array, status: number];
  /** Adds the tasks that {@linkcode Queue.drain} needs, where it does not. */
  readonly fill: (ms: number) => Promise<void>;
  /** Takes and completes tasks. */
  readonly drain: (load: LoadThread, ms: number) => Promise<Drained>;
  /** Starts of tasks that claims have lost to other instances so far. */
  readonly lostStarts: () => Promise<number>;
}

/** What {@linkcode Queue.drain} did. */
export interface Drained {
  /** Tasks a second. */
  readonly perSecond: number;
  /** All tasks; undefined where it has also added them. */
  readonly tasks?: number;
}

/** The tasks service as a queue. */
export interface TasksQueue extends Queue {
  /** Its instances. */
  readonly services: readonly TasksService[];
  /** The tenant that all requests are for. */
  readonly tenant: BenchTenant;
}

/** Tasks that are leased and completed at a time. */
const LEASED = 50;
/** Connections that lease, of all instances together. */
const LEASING = 12;
/** Tasks that are made for each second of leasing. */
const TASKS_PER_SECOND = 12_000;

/** What is told of the instances that {@linkcode openTasks} starts. */
export interface TasksOptions {
  /** What the queue is called. */
  readonly name: string;
  /** Where they store; in a file unless given. */
  readonly server?: BenchPostgres;
  /** How many there are. @default {1} */
  readonly instances?: number;
  /** Whether they tell each other anything. @default {true} */
  readonly hasNotices?: boolean;
}

/** Starts instances of the service on a store of their own, with a tenant. */
export async function openTasks(
  run: BenchRun,
  { name, server, instances = 1, hasNotices = true }: TasksOptions,
): Promise<TasksQueue> {
  const folder = await run.makeFolder();
  const lost = `${folder}/lost`;
  await Deno.writeTextFile(lost, "");
  const settings = server === undefined ? {} : {
    STORE: "postgres",
    DATABASE_URL: server.url,
    DATABASE_SCHEMA: `bench_${crypto.randomUUID().slice(0, 8)}`,
    [LOST_STARTS]: lost,
    ...(hasNotices ? {} : { [WITHOUT_NOTICES]: "1" }),
  };
  const program = "tasks/instance_program.ts";
  const services: TasksService[] = [];
  while (services.length < instances) {
    const service = await startTasks(folder, { settings, program });
    run.keep(service.process);
    services.push(service);
  }
  const [first] = services;
  const tenant = await makeTenant(first!.port);
  const { host, token } = tenant;
  const job = { host, token, batch: LEASED, connections: LEASING } as const;
  let left = 0;
  return {
    name,
    services,
    tenant,
    processes: services.map(({ process }) => process),
    adds: createRequests(tenant),
    batch: [batchRequest(tenant, "return=minimal"), 200],
    lostStarts: async () => (await Deno.stat(lost)).size,
    async fill(ms) {
      const wanted = tasksFor(ms);
      await prepareTasks(first!, tenant, wanted - left);
      left = Math.max(left, wanted);
    },
    async drain(load, ms) {
      const ports = services.map(({ port }) => port);
      const { perSecond, requests, missing } = await load.run({
        kind: "drain",
        job: {
          ...{ ...job, ports, answer: "representation" },
          ...{ tasks: tasksFor(ms), ms },
        },
      });
      const tasks = requests * LEASED - missing;
      left -= tasks;
      return { perSecond, tasks };
    },
  };
}

/** More tasks than instances complete in that time. */
function tasksFor(ms: number): number {
  return Math.ceil(ms / 1_000) * TASKS_PER_SECOND;
}

/**
 * Starts other queues, on a PostgreSQL and on a Redis of their own; those that
 * cannot be started are left out.
 */
export async function openPeers(
  run: BenchRun,
  server: BenchPostgres,
): Promise<readonly Queue[]> {
  const queues: Queue[] = [];
  const redis = await startRedis(run.folder, { isDurable: true });
  if (redis === undefined) {
    tell("BullMQ is left out: there is no redis-server on the path");
  } else run.keep(redis);
  const peers = [
    [PG_BOSS, "pg-boss", server.url],
    [GRAPHILE, "graphile", server.url],
    [BULLMQ, "bullmq", redis?.port],
  ] as const;
  for (const [name, program, place] of peers) {
    if (place === undefined) continue;
    try {
      const process = run.keep(await startPeer(program, place));
      queues.push({
        name,
        processes: [process],
        adds: [PEER_ADD],
        batch: [PEER_BATCH, 201],
        fill: () => Promise.resolve(),
        drain: async () => ({ perSecond: await askDrain(process.port) }),
        lostStarts: () => Promise.resolve(0),
      });
    } catch (error) {
      tell(`${name} is left out: ${toMessage(error)}`);
    }
  }
  return queues;
}
