/**
 * The peer BullMQ, on Redis.
 *
 * @module
 */

import { importPackage, type Peer } from "./peer.ts";

interface Queue {
  add(name: string, data: unknown): Promise<unknown>;
  addBulk(jobs: readonly unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

interface Worker {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

interface RedisClient {
  disconnect(): void;
}

interface BullMq {
  readonly Queue: new (name: string, options: unknown) => Queue;
  readonly Worker: new (
    name: string,
    run: () => Promise<void>,
    options: unknown,
  ) => Worker;
}

const QUEUE = "bench";

/** Connects to the Redis server on a port of this machine. */
export async function openBullMq(port: number): Promise<Peer> {
  const { Queue, Worker } = await importPackage(
    "bullmq@^6.0.0",
  ) as unknown as BullMq;
  // The client is passed in, since BullMQ finds ioredis by itself only where
  // all packages are installed in one folder.
  const { Redis } = await importPackage("ioredis@^5.0.0") as unknown as {
    readonly Redis: new (options: unknown) => RedisClient;
  };
  const connection = new Redis({
    host: "127.0.0.1",
    port,
    maxRetriesPerRequest: null,
  });
  const queue = new Queue(QUEUE, { connection });
  return {
    add: (data) => queue.add("job", data),
    addMany: (data) =>
      queue.addBulk(data.map((one) => ({ name: "job", data: one }))),
    async work(onJob) {
      const worker = new Worker(QUEUE, () => {
        onJob();
        return Promise.resolve();
      }, { connection, concurrency: 50 });
      await worker.waitUntilReady();
      return () => worker.close();
    },
    async close() {
      await queue.close();
      connection.disconnect();
    },
  };
}
