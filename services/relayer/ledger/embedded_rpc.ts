/**
 * The interface of JSON-RPC over the embedded ledger, as services/localnet
 * answers it: the relayer's program loads that room and passes it on.
 *
 * @module
 */

import type { BlobCatalog } from "../blobs/blob_store.ts";
import type { LocalLedger } from "./local_ledger.ts";
import type { TransactionExecutor } from "./transaction_executor.ts";

/** The embedded ledger, with the parts that its JSON-RPC needs. */
export interface RpcLedger {
  /** Accounts and log. */
  readonly ledger: LocalLedger;
  /** Executes transactions. */
  readonly executor: TransactionExecutor;
  /**
   * Brings `ledger` up to what others have written; called before each body is
   * answered.
   *
   * @default it is as they left it
   */
  readonly catchUp?: (() => Promise<void>) | undefined;
  /** Called with errors that clients do not see. */
  readonly onFault: (error: unknown) => void;
  /**
   * The catalogue of blobs, for trusted callers.
   *
   * @default no methods of a catalogue
   */
  readonly catalog?: BlobCatalog | undefined;
  /**
   * Called with the outcome of each call; the name of a method that does not
   * exist is `unknown`.
   *
   * @default outcomes are not counted
   */
  readonly onCall?: ((method: string, end: RpcCallEnd) => void) | undefined;
}

/**
 * The outcome of a call: an error is the caller's fault, a fault the ledger's.
 */
type RpcCallEnd = "ok" | "error" | "fault";

/** The caller of a body. */
export interface RpcCaller {
  /** Where the body came from, such as the connection's address. */
  readonly from: string;
  /**
   * Whether the caller may use the catalogue of blobs.
   *
   * @default {false}
   */
  readonly isTrusted?: boolean;
}

/**
 * Answers a body, which is parsed and not trusted: a call, or a list of calls.
 * Resolves with the value to send as JSON; undefined when no call wanted an
 * answer (JSON-RPC 2.0, 4.1).
 */
export type AnswerRpc = (body: unknown, caller: RpcCaller) => Promise<unknown>;

/** Makes the function that answers JSON-RPC over a ledger. */
export type OpenRpc = (ledger: RpcLedger) => AnswerRpc;
