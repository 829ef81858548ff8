/**
 * The program of the load thread, which sends requests without being delayed by
 * other work of the measuring thread.
 *
 * @module
 */

import { toMessage } from "../../terminal.ts";
import { HttpSocket } from "../kit/http_socket.ts";
import { sorted } from "../kit/numbers.ts";
import {
  type DrainJob,
  type LoadCall,
  type LoadJob,
  type LoadReply,
  type LoadResult,
  WARM_UP_MS,
} from "./load_thread.ts";
import { complete, leaseRequest, takenLeases } from "./service.ts";

/** The part of a worker's global scope that this thread uses. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<LoadCall>) => void) | null;
  postMessage(reply: LoadReply): void;
}

serve(self as unknown as WorkerScope);

function serve(scope: WorkerScope): void {
  scope.onmessage = ({ data }) => {
    const result = data.kind === "load"
      ? runLoad(data.job)
      : runDrain(data.job);
    void result.then(
      (result) => scope.postMessage({ kind: "ok", result }),
      (error) =>
        scope.postMessage({ kind: "failed", message: toMessage(error) }),
    );
  };
}

async function runLoad(job: LoadJob): Promise<LoadResult> {
  const { requests, status, ms } = job;
  const latencies: number[] = [];
  const beginMs = performance.now() + WARM_UP_MS;
  const endMs = beginMs + ms;
  let next = 0;
  await overConnections(job, async (socket) => {
    while (true) {
      const sentMs = performance.now();
      if (sentMs >= endMs) return;
      const answer = await socket.exchange(requests[next++ % requests.length]!);
      const nowMs = performance.now();
      if (nowMs < beginMs || nowMs > endMs) continue;
      if (answer.status !== status) {
        throw new Error(`Cannot measure: answered ${answer.status}`);
      }
      latencies.push(nowMs - sentMs);
    }
  });
  return {
    perSecond: latencies.length / ms * 1_000,
    latenciesMs: sorted(latencies),
    requests: next,
    missing: 0,
  };
}

async function runDrain(job: DrainJob): Promise<LoadResult> {
  const { batch, tasks } = job;
  const leaseBytes = leaseRequest(job, job);
  const latencies: number[] = [];
  let taken = 0;
  let done = 0;
  let missing = 0;
  const beginMs = performance.now();
  const endMs = beginMs + job.ms;
  let lastMs = beginMs;
  await overConnections(job, async (socket) => {
    while (performance.now() < endMs && taken + batch <= tasks) {
      taken += batch;
      const askedMs = performance.now();
      const leases = takenLeases(await socket.exchange(leaseBytes));
      taken -= batch - leases.length;
      missing += batch - leases.length;
      await complete(socket, { tenant: job, leases });
      done += leases.length;
      lastMs = performance.now();
      latencies.push(lastMs - askedMs);
    }
  });
  return {
    perSecond: done / (lastMs - beginMs) * 1_000,
    latenciesMs: sorted(latencies),
    requests: latencies.length,
    missing,
  };
}

/** Runs a loop on each of several connections, and closes them. */
async function overConnections(
  { ports, connections }: Pick<LoadJob, "ports" | "connections">,
  drive: (socket: HttpSocket) => Promise<void>,
): Promise<void> {
  const sockets = await Promise.all(
    Array.from(
      { length: connections },
      (_, index) => HttpSocket.connect(ports[index % ports.length]!),
    ),
  );
  try {
    await Promise.all(sockets.map(drive));
  } finally {
    for (const socket of sockets) socket.close();
  }
}
