/**
 * Makes the many calls of `ratelimit client -repeat` and writes their summary:
 * how they ended, how many were made in a second, and how long they took.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { CommandIo } from "../../shared/command_line.ts";
import type { SignalSource } from "../../shared/lifecycle.ts";

/** How a call ended. */
export type CallOutcome =
  | {
    readonly kind: "answered";
    /** The decision, such as `OK`. */
    readonly name: string;
    /** True when a limit is exceeded. */
    readonly isOver: boolean;
  }
  | {
    readonly kind: "failed";
    /** The gRPC status, such as `UNAVAILABLE`. */
    readonly name: string;
    /** What went wrong. */
    readonly message: string;
  };

/** The calls to make, and where their summary goes. */
interface LoadPlan {
  /** Makes a call; never rejects. */
  readonly call: () => Promise<CallOutcome>;
  /** How many calls to make. */
  readonly repeat: number;
  /** How many calls run at a time. */
  readonly concurrency: number;
  /** True to write the summary as JSON. */
  readonly json: boolean;
  /** Output for the summary and the progress. */
  readonly io: CommandIo;
  /** The time, by which calls are measured. */
  readonly clock: Clock;
  /**
   * Source of SIGINT, which ends the calls early; undefined leaves SIGINT
   * alone.
   */
  readonly signals: SignalSource | undefined;
}

/** Milliseconds between two lines of progress on a terminal. */
const PROGRESS_MS = 200;
/**
 * Exit code of a program that SIGINT has ended: 128 plus the signal's number.
 */
const INTERRUPTED = 130;

/**
 * Makes the calls and writes the summary.
 *
 * @returns 1 when a call had no answer, else 3 when a limit was exceeded, else
 * 0; 130 when SIGINT has ended it early.
 */
export async function runLoad(plan: LoadPlan): Promise<number> {
  const clock = steadyClock(plan.clock);
  const { repeat, io } = plan;
  const summary = new LoadSummary();
  const startMs = clock.nowMs();
  const interrupt = Promise.withResolvers<void>();
  let isInterrupted = false;
  const unlisten = plan.signals?.listen("SIGINT", () => {
    isInterrupted = true;
    interrupt.resolve();
    // A second SIGINT ends the process.
    unlisten?.();
  });
  let begun = 0;
  let toldMs = startMs;
  const work = async (): Promise<void> => {
    while (begun < repeat && !isInterrupted) {
      begun++;
      const beginMs = clock.nowMs();
      const outcome = await plan.call();
      const endMs = clock.nowMs();
      summary.add(outcome, endMs - beginMs);
      if (io.progress === undefined || endMs - toldMs < PROGRESS_MS) continue;
      toldMs = endMs;
      io.progress(`${summary.count} of ${repeat} calls`);
    }
  };
  const workers = Math.min(plan.concurrency, repeat);
  // After SIGINT, calls that still run are not waited for.
  await Promise.race([
    Promise.all(Array.from({ length: workers }, work)),
    interrupt.promise,
  ]);
  unlisten?.();
  io.progress?.("");
  const seconds = Math.max(clock.nowMs() - startMs, 0.001) / 1_000;
  io.out(plan.json ? summary.toJson(seconds) : summary.toText(seconds));
  return isInterrupted ? INTERRUPTED : summary.exitCode;
}

/** Counts the outcomes of many calls by name, and how long the calls took. */
class LoadSummary {
  readonly #ends = new Map<string, { count: number; message?: string }>();
  readonly #durations = new Durations();
  #count = 0;
  #hasFailed = false;
  #isOver = false;

  /** How many calls were counted. */
  get count(): number {
    return this.#count;
  }

  /** The exit code, which is that of the worst outcome. */
  get exitCode(): number {
    if (this.#hasFailed) return 1;
    return this.#isOver ? 3 : 0;
  }

  /** Counts a call; its duration counts only when it was answered. */
  add(outcome: CallOutcome, durationMs: number): void {
    this.#count++;
    const end = this.#ends.get(outcome.name) ?? { count: 0 };
    end.count++;
    this.#ends.set(outcome.name, end);
    if (outcome.kind === "failed") {
      this.#hasFailed = true;
      // The message of the first failure of each kind is enough.
      end.message ??= outcome.message;
      return;
    }
    this.#isOver ||= outcome.isOver;
    this.#durations.add(durationMs);
  }

  /** Returns the summary as text for people. */
  toText(seconds: number): string {
    const rate = rounded(this.#count / seconds);
    const durations = this.#durations.summary;
    return [
      `calls: ${this.#count} in ${rounded(seconds)} s, ${rate} a second`,
      ...[...this.#ends].map(([name, { count, message }]) =>
        `${name}: ${count}${message === undefined ? "" : ` (${message})`}`
      ),
      ...(durations === undefined ? [] : [
        `latency: p50 ${durations.p50} ms, p99 ${durations.p99} ms, ` +
        `max ${durations.max} ms`,
      ]),
    ].join("\n");
  }

  /** Returns the summary as JSON. */
  toJson(seconds: number): string {
    const ends = [...this.#ends];
    return JSON.stringify({
      calls: this.#count,
      seconds: rounded(seconds),
      callsPerSecond: rounded(this.#count / seconds),
      codes: Object.fromEntries(ends.map(([name, { count }]) => [name, count])),
      errors: Object.fromEntries(
        ends.flatMap(([name, { message }]) =>
          message === undefined ? [] : [[name, message]]
        ),
      ),
      latencyMs: this.#durations.summary ?? null,
    });
  }
}

/** Each bucket ends one percent above the one before it. */
const GROWTH = Math.log(1.01);
const LEAST_MS = 0.001;

/**
 * Durations, each kept to one percent in a bucket: millions of calls take no
 * more memory than thousands.
 */
class Durations {
  readonly #counts = new Map<number, number>();
  #count = 0;
  #maxMs = 0;

  add(durationMs: number): void {
    const ms = Math.max(durationMs, LEAST_MS);
    const bucket = Math.ceil(Math.log(ms / LEAST_MS) / GROWTH);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, durationMs);
  }

  /** Undefined when there are no durations. */
  get summary():
    | { readonly p50: number; readonly p99: number; readonly max: number }
    | undefined {
    if (this.#count === 0) return undefined;
    const [p50, p99] = [this.#quantile(0.5), this.#quantile(0.99)];
    return { p50, p99, max: rounded(this.#maxMs) };
  }

  #quantile(share: number): number {
    let left = Math.ceil(this.#count * share);
    for (const [bucket, count] of [...this.#counts].sort(byBucket)) {
      left -= count;
      if (left > 0) continue;
      const ms = LEAST_MS * Math.exp(bucket * GROWTH);
      return rounded(Math.min(ms, this.#maxMs));
    }
    return rounded(this.#maxMs);
  }
}

function byBucket(
  [first]: readonly [number, number],
  [second]: readonly [number, number],
): number {
  return first - second;
}

/** Rounds to three digits, which are as many as a measurement has. */
function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
