/**
 * Reads leases and completes their tasks, as a worker would.
 *
 * @module
 */

import type { HttpAnswer, HttpSocket } from "../kit/http_socket.ts";
import { type BenchTenant, tenantRequest } from "./service.ts";

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
 * Returns the leases in a response.
 *
 * @throws {Error} When the response is a refusal.
 */
export function takenLeases({ status, body }: HttpAnswer): readonly Lease[] {
  const text = decoder.decode(body);
  if (status !== 200) throw new Error(`Cannot take tasks: ${status} ${text}`);
  return Array.from(
    text.matchAll(LEASE),
    ([, id = "", token = ""]) => ({ id, token }),
  );
}

/**
 * Completes leased tasks in one request.
 *
 * @throws {Error} When one of them was not completed.
 */
export async function complete(
  socket: HttpSocket,
  { tenant, leases }: {
    readonly tenant: Pick<BenchTenant, "host" | "token">;
    readonly leases: readonly Lease[];
  },
): Promise<void> {
  if (leases.length === 0) return;
  const reports = leases.map(({ id, token }) => ({
    ...{ id, token, action: "complete", result: { ok: true } },
  }));
  const { status, body } = await socket.exchange(
    tenantRequest(tenant, { path: "leases/batch", body: { leases: reports } }),
  );
  const text = decoder.decode(body);
  const done = status === 200 ? text.match(DONE)?.length : 0;
  if (done !== leases.length) {
    throw new Error(`Cannot complete: ${status} ${text}`);
  }
}
