/**
 * What the methods of the ledger's JSON-RPC have in common: outcomes, and how their
 * parameters are read.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import { normalizeLedgerId } from "./ledger_id.ts";
import type { LocalLedger } from "./local_ledger.ts";
import type { TransactionExecutor } from "./transaction_executor.ts";

/** The embedded ledger, as far as its JSON-RPC needs it. */
export interface RpcLedger {
  /** Accounts and log. */
  readonly ledger: LocalLedger;
  /** Carries transactions out. */
  readonly executor: TransactionExecutor;
  /** Hears of what failed, which clients are not told. */
  readonly onFault: (error: unknown) => void;
}

/** A call that cannot be answered. */
interface RpcError {
  /** Codes of JSON-RPC 2.0, 5.1; the last one is a full node's for transactions. */
  readonly code: -32600 | -32601 | -32602 | -32603 | -32002;
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** The outcome of a call. */
export type RpcOutcome =
  | { readonly result: unknown }
  | { readonly error: RpcError };

/** What is left of the work that a body may ask for. */
interface RpcBudget {
  /** Objects, transactions and events that may still be read. */
  reads: number;
  /** Transactions that may still be carried out or tried. */
  runs: number;
}

/** What a method is called with, beside its parameters. */
export interface RpcContext extends RpcLedger {
  /** What is left. */
  readonly budget: RpcBudget;
  /** Whom the call came from, such as the address of the connection. */
  readonly from: string;
}

/** The parameters of a call; they are not trusted. */
export type RpcParams = readonly unknown[];

/** A method. */
export type RpcMethod = (
  params: RpcParams,
  context: RpcContext,
) => RpcOutcome | Promise<RpcOutcome>;

/** An outcome that is an error. */
export function failed(code: RpcError["code"], message: string): RpcOutcome {
  return { error: { code, message } };
}

/** The outcome for parameters that are no good. */
export function badParams(state: string): RpcOutcome {
  return failed(-32602, `Cannot read params: ${state}`);
}

/** The outcome for what is no id. */
export function noId(): RpcOutcome {
  return badParams("an object's id is hexadecimal");
}

/** The outcome for a body that asks for too much. */
export function tooMany(): RpcOutcome {
  return badParams(
    "the body asks for too much; ask for less, or with several bodies",
  );
}

/** An id in its normal form; undefined when the value is no id. */
export function idOf(id: unknown): string | undefined {
  return typeof id === "string" ? normalizeLedgerId(id) : undefined;
}

/** The options of a call; none when they are left out. */
export function optionsOf(options: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(options) ? options : {};
}

/** Bytes that are written as Base64; undefined when they are not. */
export function base64Of(
  text: unknown,
  { maxBytes }: { readonly maxBytes: number },
): Uint8Array | undefined {
  if (typeof text !== "string" || text.length > Math.ceil(maxBytes / 3) * 4) {
    return undefined;
  }
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    // It is not Base64.
    return undefined;
  }
}

/** The most of a page; more is cut down to it. */
const MAX_PAGE = 50;

/** How many a page has; undefined when that is not a number above 0. */
export function limitOf(limit: unknown): number | undefined {
  if (limit === undefined || limit === null) return MAX_PAGE;
  return typeof limit === "number" && Number.isInteger(limit) && limit > 0
    ? Math.min(limit, MAX_PAGE)
    : undefined;
}
