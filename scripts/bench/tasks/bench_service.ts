/**
 * Starts the tasks service as a process of its own, with its production
 * permissions.
 *
 * @module
 */

import {
  decidedSource,
  runtimeVariables,
  withStd,
} from "../../launch/deno_process.ts";
import { permissionFlags } from "../../permissions.ts";
import { freePort } from "./free_port.ts";
import { HttpSocket, requestBytes } from "./http_socket.ts";

/** The host whose subdomains name the tenants. */
export const SERVICE_HOST = "bench.test";

const ROOT = decodeURIComponent(new URL("../../../", import.meta.url).pathname);
const READY_MS = 120_000;
const STOP_MS = 60_000;

/** A process of the tasks service. */
export class BenchService {
  /** The port on which the service listens. */
  readonly port: number;
  /** The port on which it serves its metrics. */
  readonly metricsPort: number;
  /**
   * Milliseconds from the start of the process until it first answered that it
   * is ready.
   */
  readonly readyMs: number;
  readonly #child: Deno.ChildProcess;
  readonly #log: Promise<string>;

  private constructor(
    child: Deno.ChildProcess,
    started: {
      readonly port: number;
      readonly metricsPort: number;
      readonly readyMs: number;
      readonly log: Promise<string>;
    },
  ) {
    this.#child = child;
    this.port = started.port;
    this.metricsPort = started.metricsPort;
    this.readyMs = started.readyMs;
    this.#log = started.log;
  }

  /**
   * Starts the service on a data folder and waits until it is ready.
   *
   * @param options.inspectPort The port on which the inspector of the process
   * listens; no inspector unless given.
   * @throws {Error} When the process ends, or is not ready in two minutes.
   */
  static async start(
    dataDir: string,
    { inspectPort }: { readonly inspectPort?: number } = {},
  ): Promise<BenchService> {
    const [port, metricsPort] = [freePort(), freePort()];
    const beginMs = performance.now();
    const child = spawn(
      [`${ROOT}services/tasks/main.ts`],
      {
        PORT: String(port),
        METRICS_PORT: String(metricsPort),
        DATA_DIR: dataDir,
        SERVICE_HOST,
        ACCOUNTS_MODE: "open",
        // Lets the SDK name the tenant in the path, so that no subdomain has to
        // resolve.
        DEV_TENANT_FALLBACK: "true",
        LOG_LEVEL: "warn",
      },
      inspectPort,
    );
    const log = new Response(child.stderr).text();
    const ended = child.status.then(() => "ended" as const);
    const ready = await Promise.race([
      isReady(port, beginMs + READY_MS),
      ended,
    ]);
    const readyMs = performance.now() - beginMs;
    const service = new BenchService(child, {
      port,
      metricsPort,
      readyMs,
      log,
    });
    if (ready === true) return service;
    await service.kill();
    throw new Error(`Cannot start the service: its log:\n${await log}`);
  }

  /** The process id. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Kills the process, as a crash would; returns its log. */
  async kill(): Promise<string> {
    signal(this.#child, "SIGKILL");
    await this.#child.status;
    return await this.#log;
  }

  /**
   * Stops the process with SIGTERM, as a supervisor would.
   *
   * @throws {Error} When the process does not exit with 0.
   */
  async stop(): Promise<void> {
    signal(this.#child, "SIGTERM");
    const timer = setTimeout(() => signal(this.#child, "SIGKILL"), STOP_MS);
    const { code } = await this.#child.status;
    clearTimeout(timer);
    if (code === 0) return;
    throw new Error(`Cannot stop the service: its log:\n${await this.#log}`);
  }
}

/** Returns how many milliseconds the runtime takes to run an empty program. */
export async function runtimeStartMs(): Promise<number> {
  const beginMs = performance.now();
  const child = spawn([new URL("empty_program.ts", import.meta.url).pathname]);
  await child.stderr.cancel();
  await child.status;
  return performance.now() - beginMs;
}

function spawn(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  inspectPort?: number,
): Deno.ChildProcess {
  const execPath = Deno.execPath();
  const flags = [
    ...permissionFlags("tasks", { execPath }),
    ...inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectPort}`],
  ];
  return new Deno.Command(execPath, {
    args: [...withStd(["run", ...flags], decidedSource()), ...args],
    cwd: ROOT,
    clearEnv: true,
    env: { ...runtimeVariables(Deno.env.toObject()), ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

async function isReady(port: number, endMs: number): Promise<boolean> {
  const request = requestBytes({
    method: "GET",
    path: "/readyz",
    host: SERVICE_HOST,
  });
  while (performance.now() < endMs) {
    try {
      using socket = await HttpSocket.connect(port);
      if ((await socket.exchange(request)).status === 200) return true;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return false;
}

function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch (error) {
    // The process has already ended by itself.
    if (!(error instanceof TypeError)) throw error;
  }
}
