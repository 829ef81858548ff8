/**
 * Writes CPU profiles in the form of pprof: V8's tree of calls becomes the
 * samples, locations and functions of `perftools.profiles.Profile`
 * (https://github.com/google/pprof/blob/main/proto/profile.proto).
 *
 * @module
 */

import { WireWriter } from "../../../proto/wire_writer.ts";

/** A node of V8's tree of calls (Profiler.ProfileNode of its protocol). */
interface CpuProfileNode {
  /** Number of the node, used in samples and in `children`. */
  readonly id: number;
  /**
   * The function; `lineNumber` counts from 0, and is -1 when the place is
   * unknown.
   */
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  /** Numbers of the nodes that this function called. */
  readonly children?: readonly number[] | undefined;
}

/** A CPU profile of V8 (Profiler.Profile of its protocol); times in µs. */
export interface CpuProfile {
  /** All nodes; the first is the root. */
  readonly nodes: readonly CpuProfileNode[];
  /** Start of the profile, by V8's own clock. */
  readonly startTime: number;
  /** End of the profile, by the same clock. */
  readonly endTime: number;
  /** For each sample, the number of the node that ran. */
  readonly samples?: readonly number[] | undefined;
  /** For each sample, the time since the sample before. */
  readonly timeDeltas?: readonly number[] | undefined;
}

/** Numbers of the fields of Profile and of the messages in it. */
const PROFILE = {
  sampleType: 1,
  sample: 2,
  location: 4,
  function: 5,
  stringTable: 6,
  timeNanos: 9,
  durationNanos: 10,
  periodType: 11,
  period: 12,
} as const;
const VALUE_TYPE = { type: 1, unit: 2 } as const;
const SAMPLE = { locationId: 1, value: 2 } as const;
const LOCATION = { id: 1, line: 4 } as const;
const LINE = { functionId: 1, line: 2 } as const;
const FUNCTION = { id: 1, name: 2, systemName: 3, filename: 4, startLine: 5 };

/**
 * V8's name for time in which the thread did nothing; a CPU profile omits it.
 */
const IDLE = "(idle)";

/**
 * Writes a profile of V8 in pprof's form, not compressed: for each stack, how
 * often it was seen and how long it ran, in nanoseconds.
 *
 * @param startMs Milliseconds since the Unix epoch at which the profile began.
 */
export function encodePprof(
  profile: CpuProfile,
  startMs: number,
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter(65_536);
  const texts = new TextTable();
  const valueType = (field: number, type: string, unit: string): void => {
    const mark = writer.open(field);
    writer.uint(VALUE_TYPE.type, texts.at(type));
    writer.uint(VALUE_TYPE.unit, texts.at(unit));
    writer.close(mark);
  };
  valueType(PROFILE.sampleType, "samples", "count");
  valueType(PROFILE.sampleType, "cpu", "nanoseconds");

  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const { id, children = [] } of profile.nodes) {
    for (const child of children) parents.set(child, id);
  }
  const root = profile.nodes[0]?.id;
  for (const [id, { count, micros }] of selfTimes(profile)) {
    if (byId.get(id)?.callFrame.functionName === IDLE) continue;
    const mark = writer.open(PROFILE.sample);
    // The leaf comes first; the root stands for no function.
    for (
      let at: number | undefined = id;
      at !== undefined && at !== root;
      at = parents.get(at)
    ) writer.uint(SAMPLE.locationId, at);
    writer.uint(SAMPLE.value, count);
    writer.uint(SAMPLE.value, micros * 1_000);
    writer.close(mark);
  }

  const functions = new FunctionTable();
  for (const { id, callFrame } of profile.nodes) {
    if (id === root) continue;
    const mark = writer.open(PROFILE.location);
    writer.uint(LOCATION.id, id);
    const line = writer.open(LOCATION.line);
    writer.uint(LINE.functionId, functions.at(callFrame));
    writer.uint(LINE.line, callFrame.lineNumber + 1);
    writer.close(line);
    writer.close(mark);
  }
  for (const [id, { functionName, url, lineNumber }] of functions.all()) {
    const name = functionName === "" ? "(anonymous)" : functionName;
    const mark = writer.open(PROFILE.function);
    writer.uint(FUNCTION.id, id);
    writer.uint(FUNCTION.name, texts.at(name));
    writer.uint(FUNCTION.systemName, texts.at(name));
    writer.uint(FUNCTION.filename, texts.at(url.replace(/^file:\/\//, "")));
    writer.uint(FUNCTION.startLine, lineNumber + 1);
    writer.close(mark);
  }
  const { startTime, endTime, samples = [] } = profile;
  const durationMicros = Math.max(0, endTime - startTime);
  writer.uint(PROFILE.timeNanos, Math.round(startMs) * 1e6);
  writer.uint(PROFILE.durationNanos, durationMicros * 1_000);
  valueType(PROFILE.periodType, "cpu", "nanoseconds");
  writer.uint(
    PROFILE.period,
    Math.round(durationMicros * 1_000 / Math.max(1, samples.length)),
  );
  for (const text of texts.all()) writer.text(PROFILE.stringTable, text);
  return writer.finish();
}

/**
 * Returns for each node how often it was seen running, and for how long in µs.
 */
function selfTimes(
  { samples = [], timeDeltas = [] }: CpuProfile,
): Map<number, { count: number; micros: number }> {
  const times = new Map<number, { count: number; micros: number }>();
  for (const [index, id] of samples.entries()) {
    let self = times.get(id);
    if (self === undefined) times.set(id, self = { count: 0, micros: 0 });
    self.count++;
    // A sample stands for the time until the next one; V8 may see its clock go
    // back.
    self.micros += Math.max(0, timeDeltas[index + 1] ?? 0);
  }
  return times;
}

/** Texts by number; number 0 is the empty text, as pprof requires. */
class TextTable {
  readonly #places = new Map<string, number>([["", 0]]);

  at(text: string): number {
    let place = this.#places.get(text);
    if (place === undefined) {
      this.#places.set(text, place = this.#places.size);
    }
    return place;
  }

  all(): Iterable<string> {
    return this.#places.keys();
  }
}

type CallFrame = CpuProfileNode["callFrame"];

/**
 * Functions by number, from 1. V8 has a node for each call path to a function;
 * here these share one number.
 */
class FunctionTable {
  readonly #ids = new Map<string, { id: number; frame: CallFrame }>();

  at(frame: CallFrame): number {
    const { functionName, url, lineNumber, columnNumber } = frame;
    const key = `${functionName}\n${url}:${lineNumber}:${columnNumber}`;
    let known = this.#ids.get(key);
    if (known === undefined) {
      known = { id: this.#ids.size + 1, frame };
      this.#ids.set(key, known);
    }
    return known.id;
  }

  *all(): Iterable<[number, CallFrame]> {
    for (const { id, frame } of this.#ids.values()) yield [id, frame];
  }
}
