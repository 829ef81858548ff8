/**
 * Faults of a body or a query that a client sent: what is wrong, and where.
 *
 * @module
 */

/** One thing that is wrong with a body. */
export interface Fault {
  /** Where, as a JSON pointer (RFC 6901); empty for the whole body. */
  readonly pointer: string;
  /** The kind of fault, for programs. */
  readonly code: string;
  /** What is wrong, as a message for the client. */
  readonly detail: string;
}

/** Most faults that are reported at once. */
export const MAX_FAULTS = 50;

/**
 * Most faults that are reported of a batch; beyond them each item reports only
 * one.
 */
export const MAX_BATCH_FAULTS = 1_000;

/**
 * Adds a fault unless there are {@linkcode MAX_FAULTS} already.
 *
 * @returns `undefined`, which is what a reader answers that found a fault.
 */
export function report(faults: Fault[], fault: Fault): undefined {
  if (faults.length < MAX_FAULTS) faults.push(fault);
  return undefined;
}

const UNTOLD: Fault = { pointer: "", code: "", detail: "" };

/**
 * Reads a value and reports at most `room` faults, but at least one: wording a
 * fault takes time.
 */
export function withFewFaults<T>(
  room: number,
  read: (faults: Fault[]) => T,
): { readonly value: T; readonly faults: Fault[] } {
  const told = MAX_FAULTS - Math.min(MAX_FAULTS, Math.max(1, room));
  const faults = new Array<Fault>(told).fill(UNTOLD);
  const value = read(faults);
  return { value, faults: faults.slice(told) };
}

/** The pointer to a member of the value at `parent` (RFC 6901, 3). */
export function pointerTo(parent: string, key: string | number): string {
  return typeof key === "number"
    ? `${parent}/${key}`
    : `${parent}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The message about a value that is not taken; it never holds the value. */
export function cannotTake(state: string): string {
  return `Cannot accept value: ${state}`;
}

/** Where a value stands, and what collects its faults. */
export interface Place {
  /** The pointer of the value within the body. */
  readonly at: string;
  /** What was wrong so far. */
  readonly faults: Fault[];
}

/**
 * Reports a value that is not taken, and why; the message never holds the
 * value.
 */
export function refuse(
  { at, faults }: Place,
  code: string,
  state: string,
): undefined {
  return report(faults, { pointer: at, code, detail: cannotTake(state) });
}

/** What a value is, in words, for messages. */
function describeKind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return "text";
    case "number":
      return "a number";
    case "boolean":
      return "a boolean";
    default:
      return "an object";
  }
}

/** Reports a value of another kind than `wanted`, such as `"text"`. */
export function reportKind(
  value: unknown,
  { wanted, ...place }: Place & { readonly wanted: string },
): undefined {
  return refuse(
    place,
    "wrong_type",
    `it is ${describeKind(value)}, not ${wanted}`,
  );
}

/** One thing that is wrong with a query. */
export interface ParameterFault {
  /** The parameter's name; empty for the query as a whole. */
  readonly parameter: string;
  /** The kind of fault, for programs. */
  readonly code: string;
  /** What is wrong, as a message for the client. */
  readonly detail: string;
}

/** A reason why a parser of several parameters refuses one. */
export interface ParameterProblem {
  /** The parameter's name. */
  readonly parameter: string;
  /** The kind of fault. */
  readonly code: string;
  /** What is wrong, as a message for the client. */
  readonly reason: string;
}
