/**
 * Sends the same requests repeatedly over several connections.
 *
 * @module
 */

import { HttpSocket } from "./http_socket.ts";
import type { LoadJob, LoadResult } from "./load_job.ts";

/** Runs a load job. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const { port, connections, requests, status, warmUpMs, ms } = job;
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => HttpSocket.connect(port)),
  );
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  const beginMs = performance.now() + warmUpMs;
  const endMs = beginMs + ms;
  let next = 0;
  async function drive(socket: HttpSocket): Promise<void> {
    while (true) {
      const sentMs = performance.now();
      if (sentMs >= endMs) return;
      const answer = await socket.exchange(requests[next++ % requests.length]!);
      const nowMs = performance.now();
      if (nowMs < beginMs || nowMs > endMs) continue;
      if (answer.status === status) latencies.push(nowMs - sentMs);
      else failures[answer.status] = (failures[answer.status] ?? 0) + 1;
    }
  }
  try {
    await Promise.all(sockets.map(drive));
  } finally {
    for (const socket of sockets) socket.close();
  }
  return {
    count: latencies.length,
    ms,
    failures,
    latenciesMs: Float64Array.from(latencies).sort(),
  };
}
