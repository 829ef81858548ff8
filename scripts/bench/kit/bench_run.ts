/**
 * One run of a benchmark program: its arguments, its measures and its report.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { messageOf, print, tell } from "../../terminal.ts";
import { type Bar, isMet, markdownOf, tableOf } from "./bars.ts";
import { median, quantile, sorted } from "./numbers.ts";

/** An option of one program, beside those that all programs take. */
export interface BenchOption {
  /** What the help shows for the value, such as `<n>`. */
  readonly value: string;
  /** The value when the option is left out. */
  readonly default: string;
  /** What the help says, without the default. */
  readonly help: string;
}

/** Describes a benchmark program. */
export interface BenchProgram {
  /** The task that runs it, and its positional arguments. */
  readonly usage: string;
  /** What it measures: the first lines of the help. */
  readonly about: string;
  /** The last lines of the help. */
  readonly notes: string;
  /** The measures by their names for `--only`, in the order of the report. */
  readonly measures: Readonly<Record<string, (run: BenchRun) => Promise<void>>>;
  /** The default number of rounds. */
  readonly rounds: number;
  /** The default duration of each load, in seconds. */
  readonly seconds: number;
  /** The options of this program alone. */
  readonly options?: Readonly<Record<string, BenchOption>>;
  /** The greatest number of positional arguments; 0 unless given. */
  readonly positionals?: number;
}

/** Figures of one load, by name; absent where the client tells none. */
export type Figures = Readonly<Record<string, number | undefined>>;

/** A server that runs until it is stopped. */
interface Stoppable {
  stop(): Promise<unknown>;
}

const DISK_WRITES = 500;
const PAGE_BYTES = 4_096;

/** The state of a run: arguments, servers, and the figures so far. */
export class BenchRun {
  /** All figures so far, with the bars that they have to meet. */
  readonly bars: Bar[] = [];
  /** What `--json` shows beside the bars. */
  readonly details: Record<string, unknown> = {};
  /** A folder for the files of the run, which is removed at its end. */
  readonly folder: string;
  /** The positional arguments. */
  readonly files: readonly string[];
  readonly #values: Readonly<Record<string, string | boolean | undefined>>;
  readonly #running: Stoppable[] = [];
  #diskMs: number | undefined;

  /** Creates a run with its folder and its parsed arguments. */
  constructor(
    folder: string,
    { values, files }: {
      readonly values: Readonly<Record<string, string | boolean | undefined>>;
      readonly files: readonly string[];
    },
  ) {
    this.folder = folder;
    this.#values = values;
    this.files = files;
  }

  /** How many times each load is measured. */
  get rounds(): number {
    return this.count("rounds");
  }

  /** Duration of each load, in seconds. */
  get seconds(): number {
    return this.count("seconds");
  }

  /** Whether the report is JSON. */
  get isJson(): boolean {
    return this.#values.json === true;
  }

  /** Returns the text of an option. */
  text(name: string): string {
    return String(this.#values[name] ?? "");
  }

  /**
   * Returns the value of an option that is a whole number above 0.
   *
   * @throws {TypeError} When it is another value.
   */
  count(name: string): number {
    return countFrom(name, this.text(name));
  }

  /** Returns the whole numbers above 0 that an option lists. */
  counts(name: string): readonly number[] {
    return this.text(name).split(",").map((text) => countFrom(name, text));
  }

  /**
   * Returns the value of an option that is one of several names.
   *
   * @throws {TypeError} When it is another name.
   */
  oneOf<Name extends string>(option: string, names: readonly Name[]): Name {
    const name = names.find((name) => name === this.text(option));
    if (name !== undefined) return name;
    throw new TypeError(
      `Cannot measure: --${option} is "${this.text(option)}", not ` +
        names.join(" or "),
    );
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
   * up.
   */
  async inTurns<Name extends string>(
    loads: Readonly<Record<Name, () => Promise<Figures>>>,
  ): Promise<Readonly<Record<Name, Readonly<Record<string, number>>>>> {
    const entries = Object.entries(loads) as [Name, () => Promise<Figures>][];
    const known = new Map<Name, Figures[]>(entries.map(([name]) => [name, []]));
    for (let round = 0; round <= this.rounds; round++) {
      for (const [name, load] of entries) {
        const figures = await load();
        if (round > 0) known.get(name)?.push(figures);
      }
      tell(`  round ${round} of ${this.rounds}`);
    }
    return Object.fromEntries(
      [...known].map(([name, rounds]) => [name, medians(rounds)]),
    ) as Record<Name, Readonly<Record<string, number>>>;
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
export async function runBench(program: BenchProgram): Promise<never> {
  try {
    Deno.exit(await measure(program, Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}

async function measure(
  program: BenchProgram,
  args: readonly string[],
): Promise<number> {
  const { measures, options = {}, positionals: most = 0 } = program;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: most > 0,
    options: {
      only: { type: "string", default: Object.keys(measures).join() },
      rounds: { type: "string", default: String(program.rounds) },
      seconds: { type: "string", default: String(program.seconds) },
      ...Object.fromEntries(
        Object.entries(options).map(([name, { default: usual }]) =>
          [name, { type: "string", default: usual }] as const
        ),
      ),
      check: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      markdown: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help === true) {
    print(helpText(program));
    return 0;
  }
  if (positionals.length > most) {
    throw new TypeError(`Cannot measure "${positionals[most]}": see --help`);
  }
  const names = String(values.only).split(",");
  const unknown = names.find((name) => measures[name] === undefined);
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot measure "${unknown}": the measures are ` +
        Object.keys(measures).join(", "),
    );
  }
  const folder = await Deno.makeTempDir({ prefix: "tercet-bench-" });
  const run = new BenchRun(folder, { values, files: positionals });
  try {
    for (const name of names) {
      tell(`measuring ${name}`);
      await measures[name]?.(run);
      await run.stopAll();
    }
  } finally {
    await run.stopAll();
    await Deno.remove(folder, { recursive: true });
  }
  const { bars } = run;
  if (run.isJson) {
    const judged = bars.map((bar) => ({ ...bar, met: isMet(bar) ?? null }));
    print(JSON.stringify({ ...run.details, bars: judged }, null, 2));
  } else print(values.markdown === true ? markdownOf(bars) : tableOf(bars));
  const isMissed = bars.some((bar) => isMet(bar) === false);
  return values.check === true && isMissed ? 1 : 0;
}

function helpText(program: BenchProgram): string {
  const { about, usage, measures, options = {}, notes } = program;
  const row = (name: string, help: string): string =>
    `  --${name.padEnd(18)}${help}`;
  return [
    `${about}\n`,
    `usage: deno task ${usage} [options]\n`,
    row("only=<names>", "only these measures, with commas between:"),
    ...Object.keys(measures).map((name) => `${" ".repeat(22)}${name}`),
    row("rounds=<n>", `rounds of what is compared (${program.rounds})`),
    row("seconds=<n>", `how long each load goes (${program.seconds})`),
    ...Object.entries(options).map(([name, { value, help, default: usual }]) =>
      row(`${name}=${value}`, usual === "" ? help : `${help} (${usual})`)
    ),
    row("check", "end with 1 when a bar is missed"),
    row("json", "the result as JSON"),
    row("markdown", "the result as a table for a page"),
    row("help", "this text"),
    `\n${notes}`,
  ].join("\n");
}

function medians(
  rounds: readonly Figures[],
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.keys(rounds[0] ?? {}).map((name) => [
      name,
      median(rounds.flatMap((figures) => figures[name] ?? [])),
    ]),
  );
}

function countFrom(name: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new TypeError(`Cannot read --${name} "${text}": give a whole number`);
}
