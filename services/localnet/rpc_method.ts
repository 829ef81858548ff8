/**
 * Methods of the ledger's JSON-RPC: how a method reads its parameters, what it
 * costs, and how it refuses a call.
 *
 * @module
 */

import type { RpcCaller, RpcLedger } from "../relayer/ledger/embedded_rpc.ts";
import { normalizeLedgerId } from "../relayer/ledger/ledger_id.ts";
import { isJsonObject } from "../shared/schema/schema.ts";

/** A JSON object that a caller sent, or one to answer with. */
export type Json = Readonly<Record<string, unknown>>;

/** Thrown for a call that is refused; the caller sees code and message. */
export class RpcError extends Error {
  /**
   * The error's code (JSON-RPC 2.0, 5.1); the last one is a full node's code
   * for transactions.
   */
  readonly code: -32600 | -32601 | -32602 | -32603 | -32002;

  /** Makes an error that says what is wrong, and what to do. */
  constructor(code: RpcError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Refuses a call because of its parameters. */
export function badParams(state: string): never {
  throw new RpcError(-32602, `Cannot read params: ${state}`);
}

/** The context of a method's call, beside its parameters. */
export interface RpcContext extends RpcLedger, RpcCaller {
  /** How much work the body may still ask for. */
  readonly budget: {
    /** Objects, transactions and events that may still be read. */
    reads: number;
    /** Transactions that may still be executed or tried. */
    runs: number;
  };
}

/**
 * A JSON-RPC method; it answers with the result, or throws
 * {@linkcode RpcError}.
 */
export type RpcMethod = (
  params: readonly unknown[],
  context: RpcContext,
) => unknown;

/** Reads a parameter, which is not trusted; throws {@linkcode RpcError}. */
type Param<T> = (value: unknown, context: RpcContext) => T;

/** What parameters read. */
type ValuesOf<Params extends readonly Param<unknown>[]> = {
  readonly [At in keyof Params]: ReturnType<Params[At]>;
};

/** A method in parts. */
interface MethodParts<Params extends readonly Param<unknown>[]> {
  /** The parameters, in order; they are read before anything else. */
  readonly params: Params;
  /**
   * How many objects, transactions and events the call reads.
   *
   * @default {0}
   */
  readonly reads?: number | ((values: ValuesOf<Params>) => number);
  /**
   * How many transactions the call executes or tries.
   *
   * @default {0}
   */
  readonly runs?: number;
  /** Returns the result, or a promise of it. */
  readonly answer: (values: ValuesOf<Params>, context: RpcContext) => unknown;
}

/** Makes a method of its parts. */
export function method<const Params extends readonly Param<unknown>[]>(
  { params, reads, runs, answer }: MethodParts<Params>,
): RpcMethod {
  return (given, context) => {
    const { budget } = context;
    // The mapped type has one value for each parameter.
    const values = params.map((read, at) =>
      read(given[at], context)
    ) as ValuesOf<
      Params
    >;
    // Calls that cost nothing are answered even when the budget is used up.
    if (reads !== undefined) {
      budget.reads -= typeof reads === "number" ? reads : reads(values);
    }
    if (runs !== undefined) budget.runs -= runs;
    const isTooMuch = (reads !== undefined && budget.reads < 0) ||
      (runs !== undefined && budget.runs < 0);
    return isTooMuch
      ? badParams(
        "the body asks for too much; ask for less, or with several bodies",
      )
      : answer(values, context);
  };
}

/** Reads anything. */
export const ANY = (value: unknown): unknown => value;

/** Reads an id, in its normal form. */
export const ID = (value: unknown): string =>
  readId(value) ?? badParams("an object's id is hexadecimal");

/** Reads an object; any other value counts as an empty one. */
export const OPTIONS = (value: unknown): Json =>
  isJsonObject(value) ? value : {};

/** Reads a list; `state` says what is wrong with any other value. */
export function list(state: string): (value: unknown) => readonly unknown[] {
  return (value) => Array.isArray(value) ? value : badParams(state);
}

/** Reads Base64; `state` says what is wrong with any other value. */
export function base64(
  { maxBytes, state }: { readonly maxBytes: number; readonly state: string },
): (value: unknown) => Uint8Array {
  return (value) => {
    const isShort = typeof value === "string" &&
      value.length <= Math.ceil(maxBytes / 3) * 4;
    if (!isShort) badParams(state);
    try {
      return Uint8Array.fromBase64(value);
    } catch {
      return badParams(state);
    }
  };
}

/** Most items of a page; a higher limit counts as this one. */
const MAX_PAGE = 50;

/** Reads the number of items of a page. */
export const LIMIT = (limit: unknown): number => {
  if (limit === undefined || limit === null) return MAX_PAGE;
  return typeof limit === "number" && Number.isInteger(limit) && limit > 0
    ? Math.min(limit, MAX_PAGE)
    : badParams("a limit is a number above 0");
};

/** Returns an id in its normal form; undefined when the value is not an id. */
export function readId(id: unknown): string | undefined {
  return typeof id === "string" ? normalizeLedgerId(id) : undefined;
}

/**
 * The parts of an answer that the options ask for: a part `content` is asked
 * for by `showContent`.
 */
export function shownParts(
  shown: Json,
  parts: Readonly<Record<string, () => unknown>>,
): Json {
  const asked = Object.entries(parts).filter(([name]) =>
    shown[`show${name.charAt(0).toUpperCase()}${name.slice(1)}`] === true
  );
  return Object.fromEntries(asked.map(([name, value]) => [name, value()]));
}
