/**
 * The smoke test of the tasks service: a tenant's worker leases a task and
 * completes it.
 *
 * @module
 */

import { freePorts, type SmokeService } from "./smoke.ts";

/** Describes the tasks service with its data in `folder`. */
export function tasksSmoke(folder: string): SmokeService {
  const [port, metricsPort] = freePorts(2);
  const base = `http://127.0.0.1:${port}`;
  return {
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: folder,
      SERVICE_HOST: "localhost",
      ACCOUNTS_MODE: "open",
      DEV_TENANT_FALLBACK: "true",
      // `deno task dev` has variables of its own for each service, as it runs
      // several.
      TASKS_PORT: String(port),
      TASKS_METRICS_PORT: String(metricsPort),
      TASKS_DATA_DIR: folder,
    },
    healthUrl: `${base}/healthz`,
    exercise: () => exercise(base),
  };
}

async function exercise(base: string): Promise<void> {
  const tenant = await post(`${base}/accounts`, { domain: "smoke" });
  const key = textOf(tenant, "owner_key");
  const api = `${base}/t/smoke/api/v1`;
  await post(`${api}/workers`, { name: "hands" }, key);
  await post(`${api}/tasks`, { worker: "hands", data: { smoke: 1 } }, key);
  const answer = await post(
    `${api}/workers/hands/lease`,
    { wait: "PT5S" },
    key,
  );
  const leases = memberOf(answer, "leases");
  const lease: unknown = Array.isArray(leases) ? leases[0] : undefined;
  const done = await post(
    `${api}/leases/${textOf(lease, "id")}/complete`,
    { result: "done" },
    textOf(lease, "token"),
  );
  const status = memberOf(done, "status");
  if (status !== "complete") {
    throw new Error(
      `Cannot accept the task: expected "complete", got ${
        JSON.stringify(done)
      }`,
    );
  }
}

async function post(
  url: string,
  body: unknown,
  ...[token]: readonly [token?: string]
): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(
      `Cannot accept the answer to ${url}: ${response.status} "${text}"`,
    );
  }
  return JSON.parse(text);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

function textOf(value: unknown, name: string): string {
  const member = memberOf(value, name);
  if (typeof member === "string") return member;
  throw new Error(`Cannot accept the answer: it has no "${name}"`);
}
