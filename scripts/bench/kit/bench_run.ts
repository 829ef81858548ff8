/**
 * One run of a benchmark program: its flags, its measures and its report.
 *
 * @module
 */

import {
  processIo,
  readCommand,
} from "../../../services/shared/command_line.ts";
import {
  integerOption,
  listOption,
  type OptionTable,
  type OptionValues,
  switchOption,
} from "../../../services/shared/options.ts";
import { print, tell, toMessage } from "../../terminal.ts";
import { type Bar, formatMarkdown, formatTable, isMet } from "./bars.ts";
import { median, quantile, sorted } from "./numbers.ts";

/** Describes a benchmark program. */
export interface BenchProgram<T extends OptionTable> {
  /** The task that runs it, and its arguments that are not flags. */
  readonly usage: string;
  /** What it measures. */
  readonly about: string;
  /** The measures by their names for `--only`, in the order of the report. */
  readonly measures: Readonly<
    Record<string, (run: BenchRun<T>) => Promise<void>>
  >;
  /** The default number of rounds. */
  readonly rounds: number;
  /** The default duration of each load, in seconds. */
  readonly seconds: number;
  /** The flags of this program alone. */
  readonly flags: T;
  /**
   * The most arguments that are not flags.
   *
   * @default {0}
   */
  readonly positionals?: number;
}

/** Figures of one load, by name; absent where the client tells none. */
export type Figures = Readonly<Record<string, number | undefined>>;

/** The values of the flags of all programs and of one program. */
type RunValues<T extends OptionTable> =
  & OptionValues<ReturnType<typeof commonFlags>>
  & OptionValues<T>;

/** A server that runs until it is stopped. */
interface Stoppable {
  stop(): Promise<unknown>;
}

const DISK_WRITES = 500;
const PAGE_BYTES = 4_096;
const LEAST_SHARE = 0.8;
const PROBE_MS = 1_000;

/** The state of a run: flags, servers, and the figures so far. */
export class BenchRun<T extends OptionTable = Readonly<Record<never, never>>> {
  /** All figures so far, with the bars that they have to meet. */
  readonly bars: Bar[] = [];
  /** What `--json` shows beside the bars. */
  readonly details: Record<string, unknown> = {};
  /** A folder for the files of the run, which is removed at its end. */
  readonly folder: string;
  /** The values of the flags. */
  readonly values: RunValues<T>;
  /** The arguments that are not flags. */
  readonly files: readonly string[];
  readonly #running: Stoppable[] = [];
  #diskMs: number | undefined;

  /** Creates a run with its folder and what the command line said. */
  constructor(
    folder: string,
    { values, positionals }: {
      readonly values: RunValues<T>;
      readonly positionals: readonly string[];
    },
  ) {
    this.folder = folder;
    this.values = values;
    this.files = positionals;
  }

  /**
   * Returns the median time of `fdatasync` after each write of one page, in
   * milliseconds, which bounds every durable write; the first call measures and
   * reports it.
   */
  async diskMs(): Promise<number> {
    if (this.#diskMs !== undefined) return this.#diskMs;
    using file = await Deno.open(`${this.folder}/probe`, {
      ...{ create: true, write: true },
    });
    const page = new Uint8Array(PAGE_BYTES).fill(1);
    const times: number[] = [];
    for (let write = 0; write < DISK_WRITES; write++) {
      await file.write(page);
      const beginMs = performance.now();
      await file.syncData();
      times.push(performance.now() - beginMs);
    }
    this.#diskMs = median(times);
    this.bars.push({
      name: "fdatasync of 4 KiB, p50",
      value: this.#diskMs,
      ...{ unit: "ms", digits: 2 },
      note: `p99 ${quantile(sorted(times), 0.99).toFixed(2)} ms`,
    });
    return this.#diskMs;
  }

  /**
   * Says that bars are not judged when this process gets less than most of a
   * processor now, as waits are then caused by the machine.
   */
  unjudgedIfBusy(): Pick<Bar, "unjudged"> {
    const share = processorShare();
    if (share >= LEAST_SHARE) return {};
    const percent = Math.round(share * 100);
    return {
      unjudged: `the machine is busy: a loop got ${percent} % of a processor`,
    };
  }

  /** Makes a new folder, which is removed at the end of the run. */
  makeFolder(): Promise<string> {
    return Deno.makeTempDir({ dir: this.folder });
  }

  /** Has a server stopped at the end of the measure at the latest. */
  keep<Server extends Stoppable>(server: Server): Server {
    this.#running.push(server);
    return server;
  }

  /** Stops all servers. */
  async stopAll(): Promise<void> {
    while (this.#running.length > 0) await this.#running.pop()?.stop();
  }

  /**
   * Runs loads in turns, so that other work on the machine slows all of them
   * down alike, and returns the medians of their figures. The first round warms
   * up. Every second round goes backward, as each load leaves something behind
   * for the next.
   *
   * @param options.leastRounds Rounds that there are in any case.
   */
  async inTurns(
    loads: readonly (() => Promise<Figures>)[],
    { leastRounds = 1 }: { readonly leastRounds?: number } = {},
  ): Promise<readonly Figures[]> {
    const known = loads.map((): Figures[] => []);
    const rounds = Math.max(leastRounds, this.values.rounds);
    for (let round = 0; round <= rounds; round++) {
      const turns = [...loads.entries()];
      if (round % 2 === 1) turns.reverse();
      for (const [at, load] of turns) {
        const figures = await load();
        if (round > 0) known[at]?.push(figures);
      }
      tell(`  round ${round} of ${rounds}`);
    }
    return known.map((rounds) =>
      Object.fromEntries(
        Object.keys(rounds[0] ?? {}).map((name) => [
          name,
          median(rounds.flatMap((figures) => figures[name] ?? [])),
        ]),
      )
    );
  }

  /** Adds a ratio to the report, with the bar that it has to meet. */
  ratio(
    name: string,
    value: number,
    bar: Pick<Bar, "atLeast" | "atMost" | "note">,
  ): void {
    this.bars.push({ name, value, unit: "×", digits: 2, ...bar });
  }

  /**
   * Adds the ratio of a figure of two loads to the report: of the processor time
   * of a call unless named.
   */
  compare(
    name: string,
    [one, other]: readonly (Figures | undefined)[],
    { figure = "cpuUs", ...bar }: Pick<Bar, "atLeast" | "atMost"> & {
      readonly figure?: string;
    },
  ): void {
    this.ratio(name, (one?.[figure] ?? NaN) / (other?.[figure] ?? NaN), bar);
  }
}

/**
 * Runs a program with the arguments of this process, and ends the process: with
 * 1 when `--check` is given and a bar is missed, with 2 when it cannot measure.
 */
export async function runBench<const T extends OptionTable>(
  program: BenchProgram<T>,
): Promise<never> {
  try {
    Deno.exit(await measure(program, Deno.args));
  } catch (error) {
    tell(toMessage(error));
    Deno.exit(2);
  }
}

async function measure<const T extends OptionTable>(
  program: BenchProgram<T>,
  args: readonly string[],
): Promise<number> {
  const { measures, usage, about, positionals = 0 } = program;
  const command = { usage: `deno task ${usage} [flags]`, about };
  const read = readCommand({ ...commonFlags(program), ...program.flags }, {
    ...{ args, io: processIo() },
    command: { ...command, positionals, leastPositionals: 0 },
  });
  if (read.kind === "done") return read.exitCode;
  const folder = await Deno.makeTempDir({ prefix: "tercet-bench-" });
  const run = new BenchRun<T>(folder, {
    values: read.values as RunValues<T>,
    positionals: read.positionals,
  });
  const { only, json, markdown, check } = run.values;
  const unknown = only.find((name) => measures[name] === undefined);
  if (unknown !== undefined) {
    throw new TypeError(`Cannot measure "${unknown}": see --help`);
  }
  const before = processorShare();
  const loops = startLoops(run.values.busy);
  try {
    for (const name of only) {
      tell(`measuring ${name}`);
      await measures[name]?.(run);
      await run.stopAll();
    }
    await endLoops(loops);
    run.bars.unshift(othersShare(before, processorShare()));
  } finally {
    await run.stopAll();
    await endLoops(loops);
    await Deno.remove(folder, { recursive: true });
  }
  const { bars } = run;
  if (json) {
    const judged = bars.map((bar) => ({ ...bar, met: isMet(bar) ?? null }));
    print(JSON.stringify({ ...run.details, bars: judged }, null, 2));
  } else print(markdown ? formatMarkdown(bars) : formatTable(bars));
  return check && bars.some((bar) => isMet(bar) === false) ? 1 : 0;
}

/** The flags that all programs have. */
function commonFlags(
  { measures, rounds, seconds }:
    & Pick<
      BenchProgram<OptionTable>,
      "rounds" | "seconds"
    >
    & { readonly measures: object },
) {
  return {
    only: listOption({
      help: "The measures, with commas between.",
      default: Object.keys(measures),
    }),
    rounds: integerOption({
      help: "Rounds of what is compared in turns; medians are told.",
      ...{ default: rounds, min: 1 },
    }),
    seconds: integerOption({
      help: "How long each load goes.",
      ...{ default: seconds, min: 1, max: 600 },
    }),
    busy: integerOption({
      help: "Busy loops that run beside all measures, as on a machine that " +
        "others share.",
      ...{ default: 0, min: 0, max: 64 },
    }),
    check: switchOption({ help: "End with 1 when a bar is missed." }),
    json: switchOption({ help: "Print JSON." }),
    markdown: switchOption({ help: "Print a table for a page." }),
  } as const;
}

/** Starts processes that do nothing but use the processor. */
function startLoops(count: number): readonly Deno.ChildProcess[] {
  return Array.from(
    { length: count },
    () =>
      new Deno.Command("sh", { args: ["-c", "while :; do :; done"] }).spawn(),
  );
}

/** Ends the loops that have not ended. */
async function endLoops(loops: readonly Deno.ChildProcess[]): Promise<void> {
  for (const loop of loops) {
    try {
      loop.kill("SIGKILL");
    } catch (error) {
      // It has ended before.
      if (!(error instanceof TypeError)) throw error;
    }
    await loop.status;
  }
}

/**
 * Makes the row of the share of a processor that other work took before and
 * after the measures. If it is high, compare ratios of one run alone.
 */
function othersShare(before: number, after: number): Bar {
  const percent = (share: number): number => 100 * (1 - share);
  return {
    name: "taken by other work of a processor",
    value: Math.max(percent(before), percent(after)),
    unit: "%",
    note: `${percent(before).toFixed(0)} % before and ` +
      `${percent(after).toFixed(0)} % after the measures`,
  };
}

/** Returns the share of a processor that a busy loop gets. */
function processorShare(): number {
  const beginMs = performance.now();
  let [lastMs, lostMs] = [beginMs, 0];
  while (lastMs - beginMs < PROBE_MS) {
    const nowMs = performance.now();
    // Without other processes a step of the loop takes much less than a
    // microsecond; a longer one was interrupted.
    if (nowMs - lastMs > 0.2) lostMs += nowMs - lastMs;
    lastMs = nowMs;
  }
  return 1 - lostMs / PROBE_MS;
}
