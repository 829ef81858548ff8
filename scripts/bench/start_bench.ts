/**
 * Measures what the start of each service costs: processor time of the process
 * until it answers its health check, compared with a bare `Deno.serve`, all in
 * turns.
 *
 * `deno task bench:start [FOLDER]` measures the executables in the folder, as
 * `deno task build` makes them; without a folder, it measures the source.
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
import { messageOf, print, tell } from "../terminal.ts";
import { median } from "./tasks/load_job.ts";

const ROUNDS = 7;
/**
 * The aim, as a multiple of the bare server's time: 150 ms on a machine on
 * which the bare server takes 35.
 */
const MOST_OF_BARE = 150 / 35;
const READY_MS = 30_000;

const BARE_NAME = "Deno.serve";
const BARE = `Deno.serve({ port: Number(Deno.env.get("PORT")), ` +
  `hostname: "127.0.0.1", onListen() {} }, () => new Response("ok"))`;

/** How to start one of the measured programs. */
interface Start {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly healthUrl: string;
}

/** The figures of one start. */
interface Figure {
  readonly cpuMs: number;
  readonly readyMs: number;
  readonly rssMb: number;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}

async function main([executables]: readonly string[]): Promise<number> {
  const figures = await inTurns({
    [BARE_NAME]: () => Promise.resolve(bareStart()),
    ...Object.fromEntries(SERVICE_NAMES.map((service) => [
      service,
      (folder: string) => serviceStart(service, { folder, executables }),
    ])),
  });
  const bareMs = figures.get(BARE_NAME)?.cpuMs ?? NaN;
  print("start                 CPU   of bare     ready     RSS");
  let isMet = true;
  for (const [name, figure] of figures) {
    const ofBare = figure.cpuMs / bareMs;
    isMet &&= ofBare <= MOST_OF_BARE;
    const verdict = ofBare <= MOST_OF_BARE
      ? ""
      : `  over ${MOST_OF_BARE.toFixed(1)} ×`;
    print(rowOf(name, figure, ofBare) + verdict);
  }
  return isMet ? 0 : 1;
}

function rowOf(name: string, figure: Figure, ofBare: number): string {
  const cells = [
    `${figure.cpuMs.toFixed(0)} ms`,
    `${ofBare.toFixed(1)} ×`,
    `${figure.readyMs.toFixed(0)} ms`,
    `${figure.rssMb.toFixed(0)} MB`,
  ];
  return name.padEnd(16) + cells.map((cell) => cell.padStart(10)).join("");
}

function bareStart(): Start {
  const [port] = freePorts(1);
  return {
    command: [Deno.execPath(), "run", "-A", "--no-config", "-"],
    env: { PORT: String(port) },
    healthUrl: `http://127.0.0.1:${port}/`,
  };
}

async function serviceStart(
  service: ServiceName,
  { folder, executables }: {
    readonly folder: string;
    readonly executables: string | undefined;
  },
): Promise<Start> {
  const { env, healthUrl } = await SMOKES[service](folder);
  const execPath = Deno.execPath();
  const flags = permissionFlags(service, {
    execPath,
    serving: (name) => env[name],
  });
  const source = ["run", ...flags, `services/${service}/main.ts`];
  return {
    command: executables === undefined
      ? [execPath, ...withStd(source, decidedSource())]
      : [`${executables}/${service}`],
    env: { LOG_LEVEL: "error", ...env },
    healthUrl,
  };
}

/**
 * Starts each program several times, in turns, and returns the medians; the
 * first round only fills caches.
 */
async function inTurns(
  starts: Readonly<Record<string, (folder: string) => Promise<Start>>>,
): Promise<ReadonlyMap<string, Figure>> {
  const rounds = new Map<string, Figure[]>();
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, start] of Object.entries(starts)) {
      const figure = await inOwnFolder(start);
      if (round > 0) rounds.set(name, [...rounds.get(name) ?? [], figure]);
    }
    tell(`  round ${round} of ${ROUNDS}`);
  }
  const middle = (figures: readonly Figure[], of: keyof Figure): number =>
    median(figures.map((figure) => figure[of]));
  return new Map([...rounds].map(([name, figures]) => [name, {
    cpuMs: middle(figures, "cpuMs"),
    readyMs: middle(figures, "readyMs"),
    rssMb: middle(figures, "rssMb"),
  }]));
}

async function inOwnFolder(
  start: (folder: string) => Promise<Start>,
): Promise<Figure> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-start-" });
  try {
    return await figureOf(await start(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function figureOf(
  { command: [program = "", ...args], env, healthUrl }: Start,
): Promise<Figure> {
  const sinceMs = performance.now();
  const isBare = args.at(-1) === "-";
  const child = new Deno.Command(program, {
    args,
    clearEnv: true,
    env: {
      HOME: Deno.env.get("HOME") ?? "",
      PATH: Deno.env.get("PATH") ?? "",
      ...env,
    },
    stdin: isBare ? "piped" : "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    if (isBare) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(BARE));
      await writer.close();
    }
    await isReady(healthUrl);
    const readyMs = performance.now() - sinceMs;
    return { readyMs, ...await usedBy(child.pid) };
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
}

async function isReady(url: string): Promise<void> {
  const endMs = performance.now() + READY_MS;
  while (performance.now() < endMs) {
    try {
      const response = await fetch(url);
      await response.body?.cancel();
      if (response.ok) return;
    } catch (error) {
      // The process does not listen yet.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Cannot measure: ${url} did not answer in ${READY_MS} ms`);
}

/**
 * Reads the processor time and memory of a process and its threads from the
 * kernel, proc(5).
 */
async function usedBy(
  pid: number,
): Promise<Pick<Figure, "cpuMs" | "rssMb">> {
  // Reads with `cat`, since Deno itself may read there only with all
  // permissions.
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `cat /proc/${pid}/statm /proc/${pid}/task/*/schedstat`],
  }).output();
  const [statm = "", ...threads] = new TextDecoder().decode(stdout).trim()
    .split("\n");
  const ns = threads.reduce((sum, line) => sum + Number(line.split(" ")[0]), 0);
  return { cpuMs: ns / 1e6, rssMb: Number(statm.split(" ")[1]) * 4_096 / 1e6 };
}
