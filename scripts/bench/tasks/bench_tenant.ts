/**
 * Makes the tenant and the worker that a benchmark uses, and their requests.
 *
 * @module
 */

import { SERVICE_HOST } from "./bench_service.ts";
import { type HttpRequestLine, HttpSocket } from "./http_socket.ts";

/** A tenant and the credentials for requests to it. */
export interface BenchTenant {
  /** The tenant's id. */
  readonly tenantId: string;
  /** The value of the Host header that names the tenant. */
  readonly host: string;
  /** The API key of the tenant's owner. */
  readonly token: string;
  /** The worker's id. */
  readonly workerId: string;
  /** The worker's name. */
  readonly worker: string;
}

const WORKER = "bench";

/**
 * Makes a tenant with a pull worker that may run any number of tasks at a time.
 *
 * @param options.domain The first label of the tenant's host; `acme` unless
 * given.
 */
export async function makeTenant(
  port: number,
  { domain = "acme" }: { readonly domain?: string } = {},
): Promise<BenchTenant> {
  using socket = await HttpSocket.connect(port);
  const made = await ask(socket, {
    method: "POST",
    path: "/",
    host: `accounts.${SERVICE_HOST}`,
    body: JSON.stringify({ domain }),
  });
  const host = `${domain}.${SERVICE_HOST}`;
  const token = textOf(made, "owner_key");
  const worker = await ask(socket, {
    method: "POST",
    path: "/api/v1/workers",
    host,
    token,
    body: JSON.stringify({
      name: WORKER,
      concurrency: 0,
      lease: "PT1H",
      timeout: "PT1H",
    }),
  });
  return {
    tenantId: textOf(made, "id"),
    host,
    token,
    workerId: textOf(worker, "id"),
    worker: WORKER,
  };
}

/** Makes a task; returns its id. */
export async function makeTask(
  port: number,
  tenant: BenchTenant,
): Promise<string> {
  using socket = await HttpSocket.connect(port);
  return textOf(await ask(socket, createRequest(tenant, 0)), "id");
}

/**
 * The body of a request that makes a task, of the size that other queues are
 * measured with.
 */
export function taskBody(index: number): Readonly<Record<string, unknown>> {
  return {
    worker: WORKER,
    data: { to: `someone${index}@example.com`, text: "x".repeat(80) },
  };
}

/** The request that makes one task. */
export function createRequest(
  { host, token }: BenchTenant,
  index: number,
): HttpRequestLine {
  const body = JSON.stringify(taskBody(index));
  return { method: "POST", path: "/api/v1/tasks", host, token, body };
}

/** The request that makes many tasks at once. */
export function batchRequest(
  { host, token }: BenchTenant,
  tasks: number,
): HttpRequestLine {
  const body = JSON.stringify({
    tasks: Array.from({ length: tasks }, (_, index) => taskBody(index)),
  });
  return { method: "POST", path: "/api/v1/tasks/batch", host, token, body };
}

async function ask(
  socket: HttpSocket,
  request: HttpRequestLine,
): Promise<unknown> {
  const { status, json } = await socket.json(request);
  if (status === 201) return json;
  throw new Error(
    `Cannot prepare: ${request.method} ${request.path} answered ${status} ` +
      JSON.stringify(json),
  );
}

function textOf(json: unknown, name: string): string {
  const value: unknown = typeof json === "object" && json !== null
    ? Reflect.get(json, name)
    : undefined;
  if (typeof value === "string") return value;
  throw new Error(`Cannot prepare: the answer has no ${name}`);
}
