/**
 * What each service's start costs: processor time of the process until it answers its
 * health check, beside a bare `Deno.serve`.
 *
 * `deno task bench:start [FOLDER]`: of the executables in the folder, as
 * `deno task build` makes them; without one, of the source.
 *
 * @module
 */

import { decidedSource, withStd } from "../launch/deno_process.ts";
import {
  permissionFlags,
  SERVICE_NAMES,
  type ServiceName,
} from "../permissions.ts";
import { keyServerSmoke } from "../smoke/keyserver_smoke.ts";
import { ratelimitSmoke } from "../smoke/ratelimit_smoke.ts";
import { relayerSmoke } from "../smoke/relayer_smoke.ts";
import { freePorts, type SmokeService } from "../smoke/smoke.ts";
import { tasksSmoke } from "../smoke/tasks_smoke.ts";
import { messageOf, print, tell } from "../terminal.ts";
import { median } from "./tasks/load_job.ts";

const ROUNDS = 7;
const MAX_MS = 150;
const MS_PER_TICK = 10;
const READY_MS = 30_000;

const SERVICES: Readonly<
  Record<ServiceName, (folder: string) => SmokeService | Promise<SmokeService>>
> = {
  ratelimit: ratelimitSmoke,
  tasks: tasksSmoke,
  relayer: relayerSmoke,
  keyserver: keyServerSmoke,
};

const BARE = `Deno.serve({ port: Number(Deno.env.get("PORT")), ` +
  `hostname: "127.0.0.1", onListen() {} }, () => new Response("ok"))`;

/** A start that is measured. */
interface Start {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly healthUrl: string;
}

/** What a start took. */
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
  let isMet = true;
  print("start                 CPU     ready     RSS");
  const bare = await measure(() => Promise.resolve(bareStart()));
  print(rowOf("Deno.serve", bare));
  for (const service of SERVICE_NAMES) {
    const figure = await measure((folder) =>
      serviceStart(service, { folder, executables })
    );
    const isBelow = figure.cpuMs <= MAX_MS;
    isMet &&= isBelow;
    const verdict = isBelow ? "" : `  over ${MAX_MS} ms`;
    print(rowOf(service, figure) + verdict);
  }
  return isMet ? 0 : 1;
}

function rowOf(name: string, { cpuMs, readyMs, rssMb }: Figure): string {
  const cells = [`${cpuMs} ms`, `${readyMs.toFixed(0)} ms`, `${rssMb} MB`];
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
  const { env, healthUrl } = await SERVICES[service](folder);
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

/** The medians of several starts, after one that fills caches. */
async function measure(
  start: (folder: string) => Promise<Start>,
): Promise<Figure> {
  const figures: Figure[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const folder = await Deno.makeTempDir({ prefix: "tercet-start-" });
    try {
      const figure = await figureOf(await start(folder));
      if (round > 0) figures.push(figure);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
  return {
    cpuMs: median(figures.map(({ cpuMs }) => cpuMs)),
    readyMs: median(figures.map(({ readyMs }) => readyMs)),
    rssMb: median(figures.map(({ rssMb }) => rssMb)),
  };
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
      // It does not listen yet.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Cannot measure: ${url} did not answer in ${READY_MS} ms`);
}

/** What the kernel says of a process, proc(5). */
async function usedBy(
  pid: number,
): Promise<Pick<Figure, "cpuMs" | "rssMb">> {
  // Deno itself reads there with all permissions alone.
  const { stdout } = await new Deno.Command("cat", {
    args: [`/proc/${pid}/stat`],
  }).output();
  const stat = new TextDecoder().decode(stdout);
  // The name of the program, which may have blanks, stands between brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number);
  const [user = 0, system = 0] = fields.slice(11);
  const pages = fields[21] ?? 0;
  return {
    cpuMs: (user + system) * MS_PER_TICK,
    rssMb: Math.round(pages * 4_096 / 1e6),
  };
}
