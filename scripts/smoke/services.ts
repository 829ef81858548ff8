/**
 * How each service is tried: its settings, and requests that make it do its
 * work.
 *
 * @module
 */

import type { ServiceName } from "../permissions.ts";
import { freePorts, type SmokeRequests, type SmokeService } from "./smoke.ts";

/** Describes each service with its data in a folder. */
export const SMOKES: Readonly<
  Record<ServiceName, (folder: string) => Promise<SmokeService>>
> = {
  ratelimit: ratelimitSmoke,
  tasks: tasksSmoke,
  relayer: relayerSmoke,
  keyserver: keyServerSmoke,
};

const RULES = `domain: smoke
descriptors:
  - key: caller
    rate_limit:
      unit: day
      requests_per_unit: 1
`;

/** Enforces a limit of one request a day for each caller. */
async function ratelimitSmoke(folder: string): Promise<SmokeService> {
  await Deno.mkdir(`${folder}/config`);
  await Deno.writeTextFile(`${folder}/config/smoke.yaml`, RULES);
  const [http, grpc, debug] = freePorts(3);
  const base = `http://127.0.0.1:${http}`;
  return {
    env: {
      BACKEND_TYPE: "memory",
      RUNTIME_ROOT: folder,
      HOST: "127.0.0.1",
      PORT: String(http),
      GRPC_HOST: "127.0.0.1",
      GRPC_PORT: String(grpc),
      DEBUG_HOST: "127.0.0.1",
      DEBUG_PORT: String(debug),
    },
    healthUrl: `${base}/healthcheck`,
    requests: () =>
      Promise.resolve({
        async decide() {
          const entries = [{ key: "caller", value: crypto.randomUUID() }];
          const body = { domain: "smoke", descriptors: [{ entries }] };
          await ask(`${base}/json`, { body });
          await ask(`${base}/json`, { body, status: 429 });
        },
      }),
  };
}

/** A tenant's worker leases a task and completes it. */
function tasksSmoke(folder: string): Promise<SmokeService> {
  const { base, env } = addressSettings(folder, "TASKS");
  return Promise.resolve({
    env: {
      ...env,
      SERVICE_HOST: "localhost",
      ACCOUNTS_MODE: "open",
      DEV_TENANT_FALLBACK: "true",
    },
    healthUrl: `${base}/healthz`,
    requests: () => taskRequests(base),
  });
}

async function taskRequests(base: string): Promise<SmokeRequests> {
  const { owner_key: token = "" } = await ask(`${base}/accounts`, {
    body: { domain: "smoke" },
    status: 201,
  });
  const api = `${base}/t/smoke/api/v1`;
  const made = { token, status: 201 };
  await ask(`${api}/workers`, { ...made, body: { name: "hands" } });
  let lease: Lease | undefined;
  return {
    create: () => {
      const body = { worker: "hands", data: { smoke: 1 } };
      return ask(`${api}/tasks`, { ...made, body });
    },
    async lease() {
      const body = { wait: "PT5S" };
      const leased = await ask(`${api}/workers/hands/lease`, { token, body });
      [lease] = leased.leases ?? [];
    },
    async complete() {
      const { id, token: ofLease } = lease ?? {};
      const leases = [{ id, token: ofLease, action: "complete", result: 1 }];
      const done = await ask(`${api}/leases/batch`, {
        token,
        body: { leases },
      });
      expectThat(done.results?.[0]?.status === 200, "the task", done);
    },
  };
}

/**
 * Tells what it is, and refuses a request without a key. Remembering is not
 * tried, as it needs an account, which a command of the same executable
 * creates; the tests of the project cover it.
 */
function relayerSmoke(folder: string): Promise<SmokeService> {
  const { base, env } = addressSettings(folder, "RELAYER");
  const metricsUrl = `http://127.0.0.1:${env["METRICS_PORT"]}/metrics`;
  const requests: SmokeRequests = {
    async version() {
      const version = await ask(`${base}/version`);
      expectThat(version.apiVersion === "1.0.0", "the version", version);
    },
    recall: () =>
      ask(`${base}/api/recall`, { body: { query: "anything" }, status: 401 }),
    async metrics() {
      const text = await (await fetch(metricsUrl)).text();
      const line = 'route="POST /api/recall",status="401"';
      expectThat(text.includes(line), "the metrics", text);
    },
  };
  return Promise.resolve({
    env,
    healthUrl: `${base}/health`,
    requests: () => Promise.resolve(requests),
  });
}

/**
 * Tells what it is, proves that it has its secret, and refuses a request
 * without a certificate.
 */
async function keyServerSmoke(folder: string): Promise<SmokeService> {
  // Loaded here, since `scripts/ci/dev_smoke.ts` has no packages.
  const { devKeys } = await import("../dev/key_servers.ts");
  const { objectId } = await devKeys(folder);
  const { base, env } = addressSettings(folder, "KEYSERVER");
  const requests: SmokeRequests = {
    async service() {
      const service = await ask(`${base}/v1/service?service_id=${objectId}`);
      expectThat(service.service_id === objectId, "the service", service);
    },
    key: () => ask(`${base}/v1/fetch_key`, { body: {}, status: 400 }),
  };
  return {
    env,
    healthUrl: `${base}/health`,
    requests: () => Promise.resolve(requests),
  };
}

/**
 * The settings of a service that keeps data. `deno task dev` runs several
 * services and has variables of its own for each, which begin with `prefix`.
 */
export function addressSettings(folder: string, prefix: string): {
  readonly base: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const [port, metricsPort] = freePorts(2);
  const own = {
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    DATA_DIR: folder,
  };
  return {
    base: `http://127.0.0.1:${port}`,
    env: {
      HOST: "127.0.0.1",
      ...own,
      ...Object.fromEntries(
        Object.entries(own).map((
          [name, value],
        ) => [`${prefix}_${name}`, value]),
      ),
    },
  };
}

/** Options of {@linkcode ask}. */
interface AskOptions {
  /**
   * The value to post as JSON.
   *
   * @default the request is a GET
   */
  readonly body?: unknown;
  /**
   * The bearer token.
   *
   * @default none
   */
  readonly token?: string;
  /**
   * The status that the answer must have.
   *
   * @default {200}
   */
  readonly status?: number;
}

interface Lease {
  readonly id: string;
  readonly token: string;
}

/** What is read of answers. */
interface Answer {
  readonly apiVersion?: string;
  readonly leases?: readonly Lease[];
  readonly owner_key?: string;
  readonly results?: readonly { readonly status: number }[];
  readonly service_id?: string;
}

/**
 * Makes a request and returns the JSON of its answer; an empty object for other
 * answers.
 *
 * @throws {Error} When the answer has another status.
 */
async function ask(
  url: string,
  { body, token, status = 200 }: AskOptions = {},
): Promise<Answer> {
  const response = await fetch(url, {
    ...body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    headers: {
      "content-type": "application/json",
      ...token === undefined ? {} : { authorization: `Bearer ${token}` },
    },
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  expectThat(
    response.status === status,
    `the answer to ${url}, which is not ${status}`,
    `${response.status} ${text}`,
  );
  return text.startsWith("{") ? JSON.parse(text) : {};
}

function expectThat(isSo: boolean, what: string, got: unknown): void {
  if (isSo) return;
  throw new Error(`Cannot accept ${what}: ${Deno.inspect(got)}`);
}
