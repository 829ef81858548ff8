/**
 * The life of a service in a smoke test, however it is started: it becomes
 * healthy, does its work, and stops when it is told to.
 *
 * @module
 */

/** How the service is started. */
export interface SmokeOptions {
  /** The program. */
  readonly command: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /**
   * Whether it gets the variables of this process beside its settings.
   *
   * @default {false}
   */
  readonly inheritEnv?: boolean;
  /**
   * How long it may take to become healthy.
   *
   * @default {30000}
   */
  readonly healthyWithinMs?: number;
  /**
   * How long it may take to stop.
   *
   * @default {10000}
   */
  readonly stoppedWithinMs?: number;
}

/** One service in a smoke test. */
export interface SmokeService {
  /** Its settings, for a folder of its own and free ports of this machine. */
  readonly env: Readonly<Record<string, string>>;
  /** What answers 200 once it is healthy. */
  readonly healthUrl: string;
  /** Asks it for its work. */
  readonly exercise: () => Promise<void>;
}

/** What a program needs of the environment that is no setting of a service. */
const KEPT_VARIABLES: readonly string[] = ["HOME", "PATH", "TERCET_HOME"];

/**
 * Starts a service and puts it through its life.
 *
 * @throws {Error} At the first thing that is not as it should be; the service is
 * stopped then.
 */
export async function smoke(
  services: readonly SmokeService[],
  options: SmokeOptions,
): Promise<void> {
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
      const { healthyWithinMs = 30_000 } = options;
      await waitUntilHealthy(child, service.healthUrl, healthyWithinMs);
      await service.exercise();
    }
    await stop(child, options);
  } catch (error) {
    await kill(child);
    throw error;
  }
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

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    // It does not listen yet.
    return false;
  }
}

/** Undefined when the promise takes longer. */
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
    // It has ended already.
    if (!(error instanceof TypeError)) throw error;
  }
  await child.status;
}

/** Ports that were free a moment ago. */
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
