/**
 * Types and helpers that all methods of the ledger's JSON-RPC share: outcomes,
 * errors, and how parameters are read.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import { normalizeLedgerId } from "./ledger_id.ts";
import type { LocalLedger } from "./local_ledger.ts";
import type { TransactionExecutor } from "./transaction_executor.ts";

/** The embedded ledger, with the parts that its JSON-RPC needs. */
export interface RpcLedger {
  /** Accounts and log. */
  readonly ledger: LocalLedger;
  /** Executes transactions. */
  readonly executor: TransactionExecutor;
  /** Called with errors that clients do not see. */
  readonly onFault: (error: unknown) => void;
}

/** The error of a call. */
interface RpcError {
  /**
   * The error's code (JSON-RPC 2.0, 5.1); the last one is a full node's code
   * for transactions.
   */
  readonly code: -32600 | -32601 | -32602 | -32603 | -32002;
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** The outcome of a call. */
export type RpcOutcome =
  | { readonly result: unknown }
  | { readonly error: RpcError };

/** How much work a body may still ask for. */
interface RpcBudget {
  /** Objects, transactions and events that may still be read. */
  reads: number;
  /** Transactions that may still be executed or tried. */
  runs: number;
}

/** The context of a method's call, beside its parameters. */
export interface RpcContext extends RpcLedger {
  /** How much work the body may still ask for. */
  readonly budget: RpcBudget;
  /** Where the call came from, such as the connection's address. */
  readonly from: string;
}

/** The parameters of a call; they are not trusted. */
export type RpcParams = readonly unknown[];

/** A JSON-RPC method. */
export type RpcMethod = (
  params: RpcParams,
  context: RpcContext,
) => RpcOutcome | Promise<RpcOutcome>;

/** Makes an outcome that is an error. */
export function failed(code: RpcError["code"], message: string): RpcOutcome {
  return { error: { code, message } };
}

/** Makes the outcome for invalid parameters. */
export function badParams(state: string): RpcOutcome {
  return failed(-32602, `Cannot read params: ${state}`);
}

/** Makes the outcome for a parameter that is not an id. */
export function noId(): RpcOutcome {
  return badParams("an object's id is hexadecimal");
}

/** Makes the outcome for a body that asks for too much. */
export function tooMany(): RpcOutcome {
  return badParams(
    "the body asks for too much; ask for less, or with several bodies",
  );
}

/** Returns an id in its normal form; undefined when the value is not an id. */
export function idOf(id: unknown): string | undefined {
  return typeof id === "string" ? normalizeLedgerId(id) : undefined;
}

/** Returns the options of a call; empty when they are missing. */
export function optionsOf(options: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(options) ? options : {};
}

/** Decodes Base64; undefined when the value is not Base64 or too long. */
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
    // Not Base64.
    return undefined;
  }
}

/** Most items of a page; a higher limit counts as this one. */
const MAX_PAGE = 50;

/**
 * Returns the number of items of a page; undefined when the limit is not a
 * whole number above 0.
 */
export function limitOf(limit: unknown): number | undefined {
  if (limit === undefined || limit === null) return MAX_PAGE;
  return typeof limit === "number" && Number.isInteger(limit) && limit > 0
    ? Math.min(limit, MAX_PAGE)
    : undefined;
}
