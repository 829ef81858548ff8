/**
 * The peer pg-boss, on Postgres, which takes and completes a hundred jobs at a
 * time.
 *
 * @module
 */

import { importPackage, type Peer } from "./peer.ts";

interface Boss {
  on(event: "error", listener: (error: unknown) => void): void;
  start(): Promise<unknown>;
  stop(options: unknown): Promise<void>;
  createQueue(name: string): Promise<void>;
  send(name: string, data: unknown): Promise<unknown>;
  insert(name: string, jobs: readonly unknown[]): Promise<unknown>;
  fetch(
    name: string,
    options: unknown,
  ): Promise<readonly { readonly id: string }[]>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
}

const QUEUE = "bench";
const BATCH = 100;
const FETCHERS = 4;
/** How long a fetcher waits when the queue is empty, in milliseconds. */
const PAUSE_MS = 2;

/** Connects to the database at a connection string. */
export async function openPgBoss(connectionString: string): Promise<Peer> {
  const { PgBoss } = await importPackage("pg-boss@^12.0.0") as unknown as {
    readonly PgBoss: new (options: unknown) => Boss;
  };
  const boss = new PgBoss({ connectionString, max: 10 });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(QUEUE);
  return {
    add: (data) => boss.send(QUEUE, data),
    addMany: (data) => boss.insert(QUEUE, data.map((one) => ({ data: one }))),
    work(onJob) {
      let isOpen = true;
      const fetchers = Array.from({ length: FETCHERS }, async () => {
        while (isOpen) {
          const jobs = await boss.fetch(QUEUE, { batchSize: BATCH });
          for (const _ of jobs) onJob();
          if (jobs.length > 0) {
            await boss.complete(QUEUE, jobs.map(({ id }) => id));
          } else await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      });
      return Promise.resolve(async () => {
        isOpen = false;
        await Promise.all(fetchers);
      });
    },
    close: () => boss.stop({ graceful: false }),
  };
}
