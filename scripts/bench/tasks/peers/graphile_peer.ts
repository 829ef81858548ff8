/**
 * The peer Graphile Worker, on Postgres, with its local queue and batched
 * completion.
 *
 * @module
 */

import { importPackage, type Peer } from "./peer.ts";

interface WorkerUtils {
  migrate(): Promise<void>;
  addJob(identifier: string, payload: unknown): Promise<unknown>;
  addJobs(jobs: readonly unknown[]): Promise<unknown>;
  release(): Promise<void>;
}

interface Graphile {
  readonly makeWorkerUtils: (options: unknown) => Promise<WorkerUtils>;
  readonly run: (
    options: unknown,
  ) => Promise<{ readonly stop: () => Promise<void> }>;
  readonly Logger: new (factory: unknown) => unknown;
}

const IDENTIFIER = "bench";

/** Connects to the database at a connection string. */
export async function openGraphile(connectionString: string): Promise<Peer> {
  const { makeWorkerUtils, run, Logger } = await importPackage(
    "graphile-worker@^0.18.0",
  ) as unknown as Graphile;
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  return {
    add: (data) => utils.addJob(IDENTIFIER, data),
    addMany: (data) =>
      utils.addJobs(
        data.map((payload) => ({ identifier: IDENTIFIER, payload })),
      ),
    async work(onJob) {
      const runner = await run({
        connectionString,
        logger,
        noHandleSignals: true,
        taskList: { [IDENTIFIER]: () => onJob() },
        preset: {
          worker: {
            concurrentJobs: 24,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      });
      return () => runner.stop();
    },
    close: () => utils.release(),
  };
}
