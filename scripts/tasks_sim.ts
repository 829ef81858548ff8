/**
 * Runs the simulation of the tasks engine with one seed after another, until an
 * invariant is broken. Progress goes to stderr, the broken invariant to stdout;
 * exits with 1 when one was broken, with 2 when the arguments are wrong.
 *
 * @module
 */

import { parseFlags } from "../services/shared/command_line.ts";
import { flagsHelp } from "../services/shared/option_help.ts";
import { choiceOption, integerOption } from "../services/shared/options.ts";
import {
  simulate,
  type SimulationReport,
} from "../services/tasks/engine/testing/simulation.ts";
import { PLANTED_FAULTS } from "../services/tasks/engine/testing/planted_faults.ts";
import type { Plant } from "../services/tasks/engine/testing/simulated_process.ts";
import { print, tell } from "./terminal.ts";

const FAULTS = Object.keys(PLANTED_FAULTS);
const FLAGS = {
  seed: integerOption({
    help: "The first seed; each run takes the next one.",
    default: 1,
    min: 0,
    max: 4_294_967_295,
  }),
  engines: integerOption({
    help: "How many instances use one store; 0 lets the seed decide.",
    default: 0,
    min: 0,
    max: 16,
  }),
  plant: choiceOption({
    help: "A fault to put into each instance, to see whether it is found.",
    values: Object.fromEntries(FAULTS.map((name) => [name, name])),
    default: "",
  }),
  runs: integerOption({
    help: "How many runs; 0 goes on until a promise is broken.",
    default: 0,
    min: 0,
  }),
} as const;

/** Number of runs between two lines of progress. */
const PROGRESS_RUNS = 25;

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const outcome = parseFlags(FLAGS, args, { maxPositionals: 0 });
  if (outcome.kind === "help") {
    print(
      flagsHelp(FLAGS, {
        usage: "deno task sim:tasks [flags]",
        about:
          "Lets seeded clients, workers, crashes and clock changes loose " +
          "on one or more\ninstances of the tasks engine over one store, " +
          "and checks their promises after\neach step.",
      }).trimEnd(),
    );
    return 0;
  }
  if (outcome.kind === "invalid") {
    tell(outcome.problem);
    return 2;
  }
  return await run(outcome.values);
}

interface RunOptions {
  readonly seed: number;
  readonly runs: number;
  readonly engines: number;
  /** The name of the fault, or nothing. */
  readonly plant: string;
}

async function run(options: RunOptions): Promise<number> {
  const { seed, runs, engines } = options;
  const faults = new Map<string, { readonly plant: Plant }>(
    Object.entries(PLANTED_FAULTS),
  );
  const plant = faults.get(options.plant)?.plant ?? {};
  const beginMs = performance.now();
  let writes = 0;
  for (let count = 1; runs === 0 || count <= runs; count++) {
    const report = await simulate(seed + count - 1, { engines, plant });
    writes += report.writes;
    if (report.violations.length > 0) return broken(report, options);
    if (count % PROGRESS_RUNS === 0 || count === runs) {
      const seconds = (performance.now() - beginMs) / 1_000;
      tell(
        `${count} runs, last seed ${report.seed}, all promises kept; ` +
          `${Math.round(writes / seconds)} writes/s`,
      );
    }
  }
  return 0;
}

function broken(
  { seed, engines, isCalm, crashes, violations }: SimulationReport,
  { engines: asked, plant }: RunOptions,
): number {
  const kind = isCalm ? "calm" : `rough, ${crashes} crashes`;
  const instances = engines === 1 ? "1 instance" : `${engines} instances`;
  print(`Seed ${seed} (${instances}, ${kind}) breaks a promise:`);
  for (const violation of violations) print(`  ${violation}`);
  const flags = plant === "" ? "" : ` --plant ${plant}`;
  print(
    `Again: deno task sim:tasks --seed ${seed} --runs 1 --engines ${asked}` +
      flags,
  );
  return 1;
}
