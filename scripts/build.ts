/**
 * Builds an executable of a service: `deno task build <service>`.
 *
 * @module
 */

import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { THREADS } from "./build/bundle.ts";
import { compileService, packService } from "./build/compile.ts";
import { executableName, isTarget, TARGETS } from "./build/targets.ts";
import { SERVICE_NAMES, type ServiceName } from "./permissions.ts";
import { exitWith, print, tell } from "./terminal.ts";

const HELP = `Makes one executable of a service.

Usage: deno task build <service> [--target <target> | --fallback] [--out <path>]

Services: ${SERVICE_NAMES.join(", ")}; tercet holds all of them,
and tercet-worker does tasks by running commands

Options:
  --fallback         Make a file that unpacks itself and needs sh, tar, gzip,
                     tail and mktemp where it runs. It takes the Deno that runs
                     this task; without it, Deno's runtime archive is
                     downloaded, or the file that DENORT_BIN names is taken.
  --target <target>  The machine that it is for [default: one like this]:
                     ${TARGETS.join(",\n                     ")}
  --commit <hash>    The commit that --version tells [default: the checkout's]
  --out <path>       Where to write the executable [default: dist/<service>, and
                     .exe for Windows]
  --help             Show this text`;

/**
 * What can be built: a service, `tercet`, which holds all services, or
 * `tercet-worker`.
 */
type ProgramName = ServiceName | "tercet" | "tercet-worker";

const PROGRAMS: readonly ProgramName[] = [
  ...SERVICE_NAMES,
  "tercet",
  "tercet-worker",
];

function isProgramName(name: string): name is ProgramName {
  return PROGRAMS.some((program) => program === name);
}

function listThreads(program: ProgramName): readonly string[] {
  switch (program) {
    case "tercet":
      return Object.values(THREADS).flat();
    case "tercet-worker":
      return [];
    default:
      return THREADS[program];
  }
}

function toEntryPoint(program: ProgramName): string {
  switch (program) {
    case "tercet":
      return "services/cli/main.ts";
    case "tercet-worker":
      return "services/cli/worker_main.ts";
    default:
      return `services/${program}/main.ts`;
  }
}

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      commit: { type: "string" },
      fallback: { type: "boolean" },
      help: { type: "boolean", short: "h" },
      out: { type: "string" },
      target: { type: "string" },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const [service] = positionals;
  if (
    service === undefined || positionals.length > 1 || !isProgramName(service)
  ) {
    throw new RangeError(
      `Cannot build "${positionals.join(" ")}": name one of ` +
        PROGRAMS.join(", "),
    );
  }
  const { commit, target } = values;
  if (target !== undefined && !isTarget(target)) {
    throw new RangeError(
      `Cannot build for "${target}": the targets are ${TARGETS.join(", ")}`,
    );
  }
  if (target !== undefined && values.fallback) {
    throw new RangeError(
      "Cannot build a fallback for a target: it holds the Deno that runs this; " +
        "run it on such a machine, or leave --fallback out",
    );
  }
  const output = values.out ?? `dist/${executableName(service, target)}`;
  await Deno.mkdir(dirname(output), { recursive: true });
  const build = values.fallback ? packService : compileService;
  const outcome = await build({
    service,
    entry: toEntryPoint(service),
    threads: listThreads(service),
    output,
    commit,
    target,
  });
  if (outcome.kind === "failed") {
    tell(outcome.advice);
    return 1;
  }
  print(`Built ${output}`);
  return 0;
}
