/**
 * Measures what the start of each service costs, and of a server for an agent:
 * processor time of the process until it answers its health check, or the
 * agent's first request, compared with a bare `Deno.serve`, all in
 * turns.
 *
 * ```sh
 * deno task bench:start --help
 * ```
 *
 * @module
 */

import { decidedSource, withStd } from "../launch/deno_process.ts";
import {
  permissionFlags,
  SERVICE_NAMES,
  type ServiceName,
} from "../permissions.ts";
import { SMOKES } from "../smoke/services.ts";
import { freePorts } from "../smoke/smoke.ts";
import { type BenchRun, type Figures, runBench } from "./kit/bench_run.ts";
import {
  MeasuredProcess,
  type ProcessStart,
  ROOT,
  serviceCommand,
} from "./kit/measured_process.ts";

/**
 * The aim, as a multiple of the bare server's time: 150 ms on a machine on
 * which the bare server takes 35.
 */
const MOST_OF_BARE = 150 / 35;
const BARE_NAME = "Deno.serve";
const MCP_NAME = "tercet mcp --local";
/** The first request of an agent. */
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  },
});
const BARE = `Deno.serve({ port: Number(Deno.env.get("PORT")), ` +
  `hostname: "127.0.0.1", onListen() {} }, () => new Response("ok"))`;

if (import.meta.main) {
  await runBench({
    usage: "bench:start [folder]",
    about:
      `Measures what the start of each service costs: processor time until the health
check answers. A folder with executables, as \`deno task build\` makes them, is
measured in place of the source.`,
    measures: { start: measureStarts },
    rounds: 7,
    seconds: 1,
    positionals: 1,
    flags: {},
  });
}

async function measureStarts(run: BenchRun): Promise<void> {
  const [executables] = run.files;
  const names = [BARE_NAME, ...SERVICE_NAMES, MCP_NAME];
  const figures = await run.inTurns([
    () => bareStart(run),
    ...SERVICE_NAMES.map((service) => () =>
      serviceStart(run, service, executables)
    ),
    () => mcpStart(run, executables),
  ]);
  for (const [at, name] of names.entries()) {
    const { cpuMs = NaN, readyMs, rssMb } = figures[at] ?? {};
    run.bars.push({
      name: `start, ${name}`,
      value: cpuMs,
      unit: "ms",
      note: `ready in ${readyMs?.toFixed(0)} ms, ${rssMb?.toFixed(0)} MB`,
    });
    run.ratio(`${name} to ${BARE_NAME}`, cpuMs / (figures[0]?.cpuMs ?? NaN), {
      ...name === BARE_NAME ? {} : { atMost: MOST_OF_BARE },
    });
  }
}

async function bareStart(run: BenchRun): Promise<Figures> {
  const [port] = freePorts(1);
  const program = `${run.folder}/bare.js`;
  await Deno.writeTextFile(program, BARE);
  return await measureFigures({
    command: [Deno.execPath(), "run", "-A", "--no-config", program],
    env: { PORT: String(port) },
    readyUrl: `http://127.0.0.1:${port}/`,
  });
}

async function serviceStart(
  run: BenchRun,
  service: ServiceName,
  executables: string | undefined,
): Promise<Figures> {
  const folder = await run.makeFolder();
  const { env, healthUrl } = await SMOKES[service](folder);
  const figures = await measureFigures({
    command: executables === undefined
      ? serviceCommand(service, { env })
      : [`${executables}/${service}`],
    env: { LOG_LEVEL: "error", ...env },
    readyUrl: healthUrl,
  });
  await Deno.remove(folder, { recursive: true });
  return figures;
}

/** Starts a server for an agent with a local memory that has been used. */
async function mcpStart(
  run: BenchRun,
  executables: string | undefined,
): Promise<Figures> {
  const folder = await run.makeFolder();
  const args = ["mcp", "--local", `${folder}/memory`];
  const flags = permissionFlags("tercet", { execPath: Deno.execPath() });
  const source = withStd(["run", ...flags], decidedSource());
  const command = executables === undefined
    ? [Deno.execPath(), ...source, `${ROOT}services/cli/main.ts`, ...args]
    : [`${executables}/tercet`, ...args];
  // The first start makes the account and its key.
  const first = await MeasuredProcess.start({ command, asks: INITIALIZE });
  await first.stop();
  const figures = await measureFigures({ command, asks: INITIALIZE });
  await Deno.remove(folder, { recursive: true });
  return figures;
}

async function measureFigures(start: ProcessStart): Promise<Figures> {
  const process = await MeasuredProcess.start(start);
  const { threadsUs, residentBytes } = await process.usage();
  await process.kill();
  return {
    cpuMs: threadsUs / 1_000,
    readyMs: process.readyMs,
    rssMb: residentBytes / 1e6,
  };
}
