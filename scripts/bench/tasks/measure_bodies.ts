/**
 * Measures how long other tenants wait while one tenant sends bodies that cost
 * more than their length suggests.
 *
 * @module
 */

import { messageOf, tell } from "../../terminal.ts";
import type { Bar } from "./bar.ts";
import type { BenchRun } from "./bench_run.ts";
import { type BenchTenant, makeTask, makeTenant } from "./bench_tenant.ts";
import { hostileBodies } from "./hostile_bodies.ts";
import { HttpSocket, requestBytes } from "./http_socket.ts";
import { type LoadResult, quantile } from "./load_job.ts";

/** For how long each body is sent repeatedly, in milliseconds. */
const SHAPE_MS = 1_500;
/** Pause between two requests of the tenant that waits, in milliseconds. */
const PAUSE_MS = 5;
/**
 * The longest that another tenant's request may take on a quiet machine, in
 * milliseconds.
 */
const MOST_MS = 100;

/**
 * A status that no response has, so that the load counts every response by its
 * status.
 */
const NO_STATUS = 0;

/**
 * Sends each body over one connection and over four, and measures the latency
 * of another tenant's requests meanwhile.
 */
export async function measureBodies(run: BenchRun): Promise<readonly Bar[]> {
  const { port, tenant } = run;
  const other = await makeTenant(port, { domain: "other" });
  const taskId = await makeTask(port, tenant);
  const bars: Bar[] = [];
  const quiet = await latenciesWhile(run, other, pause(SHAPE_MS));
  bars.push({
    name: "longest wait, quiet",
    value: quantile(quiet, 1),
    unit: "ms",
    digits: 1,
  });
  for (
    const { name, path, method, body } of hostileBodies({ ...tenant, taskId })
  ) {
    const { host, token } = tenant;
    const request = requestBytes({
      method,
      path: `/api/v1${path}`,
      host,
      token,
      body,
    });
    for (const connections of [1, 4]) {
      const attack = run.load.load({
        port,
        connections,
        requests: [request],
        status: NO_STATUS,
        warmUpMs: 0,
        ms: SHAPE_MS,
      }).then(answersOf, refusalOf);
      const waits = await latenciesWhile(run, other, attack);
      const answers = await attack;
      bars.push({
        name: `longest wait, ${connections} × ${name}`,
        atMost: MOST_MS,
        value: quantile(waits, 1),
        unit: "ms",
        digits: 1,
        note: `median ${quantile(waits, 0.5).toFixed(1)} ms; ${answers}`,
      });
      tell(`  ${connections} × ${name}: ${quantile(waits, 1).toFixed(0)} ms`);
    }
  }
  bars.push({
    name: "most memory that the service held",
    value: await peakBytes(run.pid) / 1_048_576,
    unit: "MiB",
  });
  return bars;
}

function answersOf({ failures }: LoadResult): string {
  return Object.entries(failures)
    .map(([status, count]) => `${count} × ${status}`).join(", ");
}

/**
 * The server closes the connection when it refuses a body without reading it,
 * perhaps while the body is still being sent.
 */
function refusalOf(error: unknown): string {
  return `not taken: ${messageOf(error)}`;
}

/**
 * Sends requests of a tenant until `until` settles; returns their latencies.
 */
async function latenciesWhile(
  { port }: BenchRun,
  { host, token }: BenchTenant,
  until: Promise<unknown>,
): Promise<Float64Array> {
  using socket = await HttpSocket.connect(port);
  const request = requestBytes({
    method: "GET",
    path: "/api/v1/tasks?limit=1",
    host,
    token,
  });
  const latencies: number[] = [];
  let isOver = false;
  const over = until.finally(() => isOver = true);
  while (!isOver) {
    const sentMs = performance.now();
    await socket.exchange(request);
    latencies.push(performance.now() - sentMs);
    await pause(PAUSE_MS);
  }
  await over;
  return Float64Array.from(latencies).sort();
}

/**
 * Returns the most memory that a process has held so far; NaN where there is no
 * `/proc`.
 */
async function peakBytes(pid: number): Promise<number> {
  // Reads with `cat`, since the runtime does not let a program read `/proc` of
  // other processes itself.
  const { stdout } = await new Deno.Command("cat", {
    args: [`/proc/${pid}/status`],
  }).output();
  const status = new TextDecoder().decode(stdout);
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
