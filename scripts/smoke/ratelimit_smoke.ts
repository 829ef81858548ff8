/**
 * The smoke test of the rate limit service, however it is started: it becomes
 * healthy, decides, and stops when it is told to.
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

const RULES = `domain: smoke
descriptors:
  - key: caller
    rate_limit:
      unit: day
      requests_per_unit: 1
`;

const REQUEST = JSON.stringify({
  domain: "smoke",
  descriptors: [{ entries: [{ key: "caller", value: "anybody" }] }],
});

/** What a program needs of the environment that is no setting of the service. */
const KEPT_VARIABLES: readonly string[] = ["HOME", "PATH", "TERCET_HOME"];

/**
 * Starts the service on free ports of this machine, with one limit of one request
 * a day, and puts it through its life.
 *
 * @throws {Error} At the first thing that is not as it should be; the service is
 * stopped then.
 */
export async function smokeRatelimit(options: SmokeOptions): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-smoke-" });
  try {
    await Deno.mkdir(`${folder}/config`);
    await Deno.writeTextFile(`${folder}/config/smoke.yaml`, RULES);
    const [http, grpc, debug] = freePorts(3);
    const child = new Deno.Command(options.command, {
      args: [...options.args],
      clearEnv: options.inheritEnv !== true,
      env: {
        ...keptVariables(),
        BACKEND_TYPE: "memory",
        RUNTIME_ROOT: folder,
        HOST: "127.0.0.1",
        PORT: String(http),
        GRPC_HOST: "127.0.0.1",
        GRPC_PORT: String(grpc),
        DEBUG_HOST: "127.0.0.1",
        DEBUG_PORT: String(debug),
      },
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
    }).spawn();
    try {
      await exercise(child, `http://127.0.0.1:${http}`, options);
    } catch (error) {
      await kill(child);
      throw error;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function exercise(
  child: Deno.ChildProcess,
  base: string,
  options: SmokeOptions,
): Promise<void> {
  const { healthyWithinMs = 30_000, stoppedWithinMs = 10_000 } = options;
  await waitUntilHealthy(child, `${base}/healthcheck`, healthyWithinMs);
  await expectDecision(base, 200);
  await expectDecision(base, 429);
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
    // Nobody listens yet.
    return false;
  }
}

async function expectDecision(base: string, status: number): Promise<void> {
  const response = await fetch(`${base}/json`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: REQUEST,
    signal: AbortSignal.timeout(5000),
  });
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(
      `Cannot accept the decision: expected ${status}, got ` +
        `${response.status} "${text}"`,
    );
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

/** Ports that nobody had a moment ago. */
function freePorts(count: number): readonly number[] {
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
