/**
 * Runs the smoke test of services, however they are started: each becomes
 * healthy and does its work, and then all stop when they are told to.
 *
 * @module
 */

/** Requests that a service is tried with, in their order, by what they do. */
export type SmokeRequests = Readonly<Record<string, () => Promise<unknown>>>;

/** How the services are started. */
export interface SmokeOptions {
  /** The program to run. */
  readonly command: string;
  /** The arguments of the program. */
  readonly args: readonly string[];
  /**
   * Whether the program inherits all variables of this process beside its
   * settings.
   *
   * @default {false}
   */
  readonly inheritEnv?: boolean;
  /**
   * Makes the requests of a service.
   *
   * @default each is made once
   */
  readonly exercise?: (requests: SmokeRequests) => Promise<void>;
  /**
   * How long each service may take to become healthy.
   *
   * @default {30000}
   */
  readonly healthyWithinMs?: number;
  /**
   * How long the program may take to stop.
   *
   * @default {10000}
   */
  readonly stoppedWithinMs?: number;
}

/** One service in a smoke test. */
export interface SmokeService {
  /**
   * The settings of the service, for a folder of its own and free ports of this
   * machine.
   */
  readonly env: Readonly<Record<string, string>>;
  /** The URL that answers 200 once the service is healthy. */
  readonly healthUrl: string;
  /**
   * Prepares the requests that make the service do its work. They may be made
   * repeatedly; each rejects when its answer is wrong.
   */
  readonly requests: () => Promise<SmokeRequests>;
}

/**
 * Environment variables that a program needs and that are not settings of a
 * service.
 */
const KEPT_VARIABLES: readonly string[] = ["HOME", "PATH", "TERCET_HOME"];

/**
 * Starts services in one process, waits until each is healthy, exercises it,
 * and stops the process.
 *
 * @throws {Error} At the first failure; the process is killed then.
 */
export async function smoke(
  services: readonly SmokeService[],
  options: SmokeOptions,
): Promise<void> {
  const { exercise = makeEachOnce, healthyWithinMs = 30_000 } = options;
  const env = Object.assign({}, ...services.map((service) => service.env));
  const child = new Deno.Command(options.command, {
    args: [...options.args],
    clearEnv: options.inheritEnv !== true,
    env: { ...keptVariables(), ...env },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  try {
    for (const service of services) {
      await waitUntilHealthy(child, service.healthUrl, healthyWithinMs);
      await exercise(await service.requests());
    }
    await stop(child, options);
  } catch (error) {
    await kill(child);
    throw error;
  }
}

async function makeEachOnce(requests: SmokeRequests): Promise<void> {
  for (const request of Object.values(requests)) await request();
}

async function stop(
  child: Deno.ChildProcess,
  { stoppedWithinMs = 10_000 }: SmokeOptions,
): Promise<void> {
  child.kill("SIGTERM");
  const status = await within(child.status, stoppedWithinMs);
  if (status === undefined) {
    throw new Error(
      `Cannot stop the service: it runs ${stoppedWithinMs} ms after SIGTERM`,
    );
  }
  if (!status.success) {
    throw new Error(`Cannot stop the service: it ended with ${status.code}`);
  }
}

async function waitUntilHealthy(
  child: Deno.ChildProcess,
  url: string,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await isHealthy(url)) return;
    const ended = await within(child.status, 100);
    if (ended !== undefined) {
      throw new Error(
        `Cannot reach ${url}: the service ended with ${ended.code}`,
      );
    }
  }
  throw new Error(`Cannot reach ${url}: not healthy after ${timeoutMs} ms`);
}

/** Returns whether a health check answers 200 within 2 seconds. */
export async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    // The service does not listen yet.
    return false;
  }
}

/**
 * Returns the value of a promise; `undefined` when it takes longer than the
 * timeout.
 */
async function within<T>(
  promise: Promise<T>,
  timeoutMs: number,
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function kill(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // The process has already ended.
    if (!(error instanceof TypeError)) throw error;
  }
  await child.status;
}

/** Returns ports that were free a moment ago. */
export function freePorts(count: number): readonly number[] {
  const listeners = Array.from(
    { length: count },
    () => Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  );
  const ports = listeners.map((listener) => listener.addr.port);
  for (const listener of listeners) listener.close();
  return ports;
}

function keptVariables(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_VARIABLES) {
    const value = Deno.env.get(name);
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
