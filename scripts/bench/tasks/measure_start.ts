/**
 * Measures the time from the response that a task was stored to the moment a
 * waiting worker receives it.
 *
 * @module
 */

import type { Bar } from "./bar.ts";
import { createRequest } from "./bench_tenant.ts";
import type { BenchRun } from "./bench_run.ts";
import type { DiskSpeed } from "./disk_probe.ts";
import { complete, leaseRequest, leasesOf } from "./drain_loop.ts";
import { HttpSocket, requestBytes } from "./http_socket.ts";
import { median, quantile } from "./load_job.ts";

const ROUNDS = 400;
const WARM_UP_ROUNDS = 50;
/**
 * How long the worker has been waiting when a task is created, in milliseconds.
 */
const PAUSE_MS = 5;
/**
 * With a slower disk than this the bar is not judged, as the figure would
 * describe the disk rather than the service.
 */
const MAX_DISK_MS = 0.4;

/** Creates one task at a time, for one worker that waits for it. */
export async function measureStart(
  { port, tenant }: BenchRun,
  disk: DiskSpeed,
): Promise<readonly Bar[]> {
  using creating = await HttpSocket.connect(port);
  using waiting = await HttpSocket.connect(port);
  const create = requestBytes(createRequest(tenant, 1));
  const lease = leaseRequest({ ...tenant, batch: 1 }, "PT10S");
  await empty(waiting, tenant);
  const [afterAnswer, afterRequest]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const leased = waiting.exchange(lease).then((answer) => ({
      leases: leasesOf(answer),
      atMs: performance.now(),
    }));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const sentMs = performance.now();
    const { status } = await creating.exchange(create);
    const keptMs = performance.now();
    if (status !== 201) throw new Error(`Cannot measure: ${status}`);
    const { leases, atMs } = await leased;
    await complete(waiting, { job: tenant, leases, failures: {} });
    if (leases.length !== 1) throw new Error("Cannot measure: no task came");
    if (round < WARM_UP_ROUNDS) continue;
    afterAnswer.push(Math.max(0, atMs - keptMs));
    afterRequest.push(atMs - sentMs);
  }
  const p99 = quantile(Float64Array.from(afterAnswer).sort(), 0.99);
  return [{
    name: "create to start, p50",
    atMost: 2,
    value: median(afterAnswer),
    unit: "ms",
    digits: 2,
    note: `p99 ${p99.toFixed(2)} ms; p50 from sending ${
      median(afterRequest).toFixed(2)
    } ms`,
    ...(disk.p50Ms <= MAX_DISK_MS
      ? {}
      : { unjudged: `not judged: fdatasync p50 is above ${MAX_DISK_MS} ms` }),
  }];
}

/** Completes the tasks that earlier measurements left. */
async function empty(
  socket: HttpSocket,
  tenant: BenchRun["tenant"],
): Promise<void> {
  const lease = leaseRequest({ ...tenant, batch: 100 });
  while (true) {
    const leases = leasesOf(await socket.exchange(lease));
    if (leases.length === 0) return;
    await complete(socket, { job: tenant, leases, failures: {} });
  }
}
