/**
 * Leases tasks and completes them over several connections, as a worker would.
 *
 * @module
 */

import { type HttpAnswer, HttpSocket, requestBytes } from "./http_socket.ts";
import type { DrainJob, LoadResult } from "./load_job.ts";

/** What a worker needs to report on a lease. */
export interface Lease {
  /** The id of the lease. */
  readonly id: string;
  /** The secret token that proves who holds the lease. */
  readonly token: string;
}

const decoder = new TextDecoder();
/**
 * Matches the leases in a response; to parse the whole response as JSON would
 * cost more than the service does.
 */
const LEASE = /"id":"(lse_[^"]+)","token":"([^"]+)"/g;
const DONE = /\{"status":200,/g;

/**
 * Runs a drain job. Tasks that were leased without being completed are
 * completed afterwards, outside the measured time.
 */
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
        // A variable of its own: `done += await ...` would read `done` before
        // the wait, while the other connections change it.
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

/** The bytes of a request that leases tasks. */
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

/** Returns the leases in a response. */
export function leasesOf({ status, body }: HttpAnswer): readonly Lease[] {
  const text = decoder.decode(body);
  if (status !== 200) throw new Error(`Cannot take tasks: ${status} ${text}`);
  return Array.from(
    text.matchAll(LEASE),
    ([, id = "", token = ""]) => ({ id, token }),
  );
}

/** Completes leased tasks in one request; returns how many were completed. */
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
