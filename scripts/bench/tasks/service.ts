/**
 * Starts the tasks service, and makes a tenant and the requests of its worker.
 *
 * @module
 */

import { freePorts } from "../../smoke/smoke.ts";
import {
  type HttpAnswer,
  type HttpRequestLine,
  HttpSocket,
  requestBytes,
} from "../kit/http_socket.ts";
import {
  MeasuredProcess,
  scriptCommand,
  serviceCommand,
} from "../kit/measured_process.ts";

/** A running tasks service. */
export interface TasksService {
  /** Its process. */
  readonly process: MeasuredProcess;
  /** The port on which it listens. */
  readonly port: number;
  /** The port on which it serves its metrics. */
  readonly metricsPort: number;
}

/** A tenant and the credentials for requests to it. */
export interface BenchTenant {
  /** The tenant's id. */
  readonly tenantId: string;
  /** The value of the Host header that names the tenant. */
  readonly host: string;
  /** The API key of the tenant's owner. */
  readonly token: string;
}

const SERVICE_HOST = "bench.test";
/** The tenant's worker. */
export const WORKER = "bench";
const decoder = new TextDecoder();
/**
 * Matches the leases in a response; to parse the whole response as JSON would
 * cost more than the service does.
 */
const LEASE = /"id":"(lse_[^"]+)","token":"([^"]+)"/g;
const DONE = /\{"status":200,/g;
/** Number of tasks in a batch. */
export const BATCH = 1_000;

/**
 * Starts the service on a data folder.
 *
 * @param options.settings Settings beside those of the benchmark.
 * @param options.program The file of `scripts/bench/` that serves; the service's
 * own program unless given.
 */
export async function startTasks(
  dataDir: string,
  { settings = {}, program }: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly program?: string;
  } = {},
): Promise<TasksService> {
  const [port = 0, metricsPort = 0] = freePorts(2);
  const env = {
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    DATA_DIR: dataDir,
    SERVICE_HOST,
    ACCOUNTS_MODE: "open",
    LOG_LEVEL: "warn",
    ...settings,
  };
  const process = await MeasuredProcess.start({
    command: program === undefined
      ? serviceCommand("tasks", { env })
      : scriptCommand(program, []),
    env,
    readyUrl: `http://127.0.0.1:${port}/readyz`,
  });
  return { process, port, metricsPort };
}

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
  const host = `${domain}.${SERVICE_HOST}`;
  const made = await create(socket, {
    ...{ method: "POST", path: "/", host: `accounts.${SERVICE_HOST}` },
    body: JSON.stringify({ domain }),
  });
  const token = String(Reflect.get(made, "owner_key"));
  await create(socket, {
    ...{ method: "POST", path: "/api/v1/workers", host, token },
    body: JSON.stringify({
      ...{ name: WORKER, concurrency: 0, lease: "PT1H", timeout: "PT1H" },
    }),
  });
  return { tenantId: String(Reflect.get(made, "id")), host, token };
}

async function create(
  socket: HttpSocket,
  request: HttpRequestLine,
): Promise<object> {
  const { status, json } = await socket.json(request);
  if (status === 201) return Object(json);
  throw new Error(
    `Cannot prepare: ${request.method} ${request.path} answered ${status} ` +
      JSON.stringify(json),
  );
}

/**
 * Returns the bytes of a request to a tenant.
 *
 * @param request.path The path, below the base of the API.
 */
export function tenantRequest(
  { host, token }: Pick<BenchTenant, "host" | "token">,
  { path, body, ...request }: {
    readonly path: string;
    /** The body, as a value; without it the method is GET. */
    readonly body?: unknown;
    readonly prefer?: string;
  },
): Uint8Array {
  return requestBytes({
    ...{ ...request, host, token, path: `/api/v1/${path}` },
    ...(body === undefined
      ? { method: "GET" }
      : { method: "POST", body: JSON.stringify(body) }),
  });
}

/**
 * Signs the owner in at the tenant's console, and gives what makes the bytes of
 * requests for its pages, by their paths below that of the console.
 *
 * @throws {Error} When the console refuses it.
 */
export async function consoleRequests(
  port: number,
  { host, token }: Pick<BenchTenant, "host" | "token">,
): Promise<(path: string) => Uint8Array> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const form = `key=${encodeURIComponent(token)}`;
  await connection.write(
    new TextEncoder().encode(
      `POST /console/sign-in HTTP/1.1\r\nhost: ${host}\r\n` +
        "sec-fetch-site: same-origin\r\n" +
        "content-type: application/x-www-form-urlencoded\r\n" +
        `content-length: ${form.length}\r\n\r\n${form}`,
    ),
  );
  const answer = new Uint8Array(65_536);
  const length = await connection.read(answer);
  const head = decoder.decode(answer.subarray(0, length ?? 0));
  const cookie = /^set-cookie: ([^;\r]+)/im.exec(head)?.[1];
  if (cookie === undefined) throw new Error(`Cannot sign in: ${head}`);
  return (path) =>
    requestBytes({ method: "GET", path: `/console${path}`, host, cookie });
}

/**
 * The bytes of requests that make one task each, of the size that other queues
 * are measured with.
 */
export function createRequests(tenant: BenchTenant): readonly Uint8Array[] {
  return Array.from(
    { length: 64 },
    (_, index) =>
      tenantRequest(tenant, { path: "tasks", body: taskBody(index) }),
  );
}

/** The bytes of a request that makes {@linkcode BATCH} tasks. */
export function batchRequest(
  tenant: BenchTenant,
  prefer?: string,
): Uint8Array {
  const tasks = Array.from({ length: BATCH }, (_, index) => taskBody(index));
  return tenantRequest(tenant, {
    ...{ path: "tasks/batch", body: { tasks } },
    ...(prefer === undefined ? {} : { prefer }),
  });
}

function taskBody(index: number): Readonly<Record<string, unknown>> {
  return {
    worker: WORKER,
    data: { to: `someone${index}@example.com`, text: "x".repeat(80) },
  };
}

/**
 * The bytes of a request that leases tasks.
 *
 * @param options.batch Number of tasks.
 * @param options.wait How long it waits for one; not at all unless given.
 * @param options.answer Whether the response shows the tasks or only their
 * leases; the tasks unless given.
 */
export function leaseRequest(
  tenant: Pick<BenchTenant, "host" | "token">,
  { batch, wait = "PT0S", answer = "representation" }: {
    readonly batch: number;
    readonly wait?: string;
    readonly answer?: "representation" | "minimal";
  },
): Uint8Array {
  return tenantRequest(tenant, {
    ...{ path: `workers/${WORKER}/lease`, body: { max: batch, wait } },
    prefer: `return=${answer}`,
  });
}

/** Creates tasks that are due at once, in batches. */
export async function prepareTasks(
  { port }: Pick<TasksService, "port">,
  tenant: BenchTenant,
  count: number,
): Promise<void> {
  using socket = await HttpSocket.connect(port);
  const batch = batchRequest(tenant);
  for (let made = 0; made < count; made += BATCH) {
    const { status } = await socket.exchange(batch);
    if (status !== 200) throw new Error(`Cannot prepare tasks: ${status}`);
  }
}

/** What a worker needs to report on a lease. */
export interface Lease {
  /** The id of the lease. */
  readonly id: string;
  /** The secret token that proves who holds the lease. */
  readonly token: string;
}

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
