/**
 * Takes tasks and completes them over several connections.
 *
 * @module
 */

import { type HttpAnswer, HttpSocket, requestBytes } from "./http_socket.ts";
import type { DrainJob, LoadResult } from "./load_job.ts";

/** What is said of a lease when it is over. */
export interface Lease {
  /** Its id. */
  readonly id: string;
  /** What proves who holds it. */
  readonly token: string;
}

const decoder = new TextDecoder();
/** To read the whole answer as JSON would cost more than the service does. */
const LEASE = /"id":"(lse_[^"]+)","token":"([^"]+)"/g;
const DONE = /\{"status":200,/g;

/** Does a drain job; what was leased without being completed is completed afterwards. */
export async function runDrain(job: DrainJob): Promise<LoadResult> {
  const { port, connections, batch, tasks, completes } = job;
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => HttpSocket.connect(port)),
  );
  const leaseBytes = leaseRequest(job);
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  const open: Lease[] = [];
  let taken = 0;
  let done = 0;
  const beginMs = performance.now();
  const endMs = beginMs + job.ms;
  let lastMs = beginMs;
  async function drive(socket: HttpSocket): Promise<void> {
    while (performance.now() < endMs && taken + batch <= tasks) {
      taken += batch;
      const askedMs = performance.now();
      const leases = leasesOf(await socket.exchange(leaseBytes));
      if (completes) {
        // Read after the wait: others count meanwhile.
        const completed = await complete(socket, { job, leases, failures });
        done += completed;
      } else {
        open.push(...leases);
        done += leases.length;
      }
      if (leases.length < batch) failures.short = (failures.short ?? 0) + 1;
      lastMs = performance.now();
      latencies.push(lastMs - askedMs);
    }
  }
  try {
    await Promise.all(sockets.map(drive));
    const [first] = sockets;
    for (let at = 0; at < open.length && first !== undefined; at += 500) {
      const leases = open.slice(at, at + 500);
      await complete(first, { job, leases, failures });
    }
  } finally {
    for (const socket of sockets) socket.close();
  }
  return {
    count: done,
    ms: lastMs - beginMs,
    failures,
    latenciesMs: Float64Array.from(latencies).sort(),
  };
}

/** The bytes that ask for tasks. */
export function leaseRequest(
  { host, token, worker, batch, answer = "representation" }:
    & Pick<DrainJob, "host" | "token" | "worker" | "batch">
    & Partial<Pick<DrainJob, "answer">>,
  wait = "PT0S",
): Uint8Array {
  return requestBytes({
    method: "POST",
    path: `/api/v1/workers/${worker}/lease`,
    host,
    token,
    prefer: `return=${answer}`,
    body: JSON.stringify({ max: batch, wait }),
  });
}

/** The leases of an answer. */
export function leasesOf({ status, body }: HttpAnswer): readonly Lease[] {
  const text = decoder.decode(body);
  if (status !== 200) throw new Error(`Cannot take tasks: ${status} ${text}`);
  return Array.from(
    text.matchAll(LEASE),
    ([, id = "", token = ""]) => ({ id, token }),
  );
}

/** Completes what was leased; tells how many were. */
export async function complete(
  socket: HttpSocket,
  { job, leases, failures }: {
    readonly job: Pick<DrainJob, "host" | "token">;
    readonly leases: readonly Lease[];
    readonly failures: Record<string, number>;
  },
): Promise<number> {
  if (leases.length === 0) return 0;
  const words = leases.map(({ id, token }) => ({
    id,
    token,
    action: "complete",
    result: { ok: true },
  }));
  const { status, body } = await socket.exchange(requestBytes({
    method: "POST",
    path: "/api/v1/leases/batch",
    host: job.host,
    token: job.token,
    body: JSON.stringify({ leases: words }),
  }));
  const text = decoder.decode(body);
  if (status !== 200) throw new Error(`Cannot complete: ${status} ${text}`);
  const done = text.match(DONE)?.length ?? 0;
  const missing = leases.length - done;
  if (missing > 0) failures.refused = (failures.refused ?? 0) + missing;
  return done;
}
