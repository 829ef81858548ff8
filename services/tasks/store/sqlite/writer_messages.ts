/**
 * What the thread that serves and the thread that writes say to each other.
 *
 * @module
 */

import type { ProofKey } from "../../secrets/master_keys.ts";
import type { Durability } from "./database_file.ts";
import type { CountFault } from "./count_proof.ts";
import type { OperationValue } from "./operation.ts";

/** What the writing thread is asked for. Each is answered in its turn. */
export type WriterRequest =
  /** Open the database and bring its tables up to date. */
  | {
    readonly kind: "open";
    readonly path: string;
    readonly durability: Durability;
    readonly nowMs: number;
    readonly proofKeys: readonly ProofKey[];
  }
  /** Apply transactions in one commit. */
  | {
    readonly kind: "apply";
    readonly lists: readonly (readonly OperationValue[])[];
  }
  /** Remove what has expired. */
  | { readonly kind: "sweep"; readonly nowMs: number; readonly limit: number }
  /** Put counts of tasks right. */
  | { readonly kind: "repair_counts"; readonly faults: readonly CountFault[] }
  /** Write something that changes nothing, to see whether it can be written. */
  | { readonly kind: "probe" }
  /** Begin the log anew, after another thread has moved most of it. */
  | { readonly kind: "restart_log"; readonly truncate: boolean }
  /** Close the database. */
  | { readonly kind: "close" };

/** What the writing thread answers. */
export type WriterAnswer =
  /** Numbers of {@linkcode WriterRequest}: results of transactions, or of removed rows. */
  | { readonly kind: "done"; readonly numbers: readonly number[] }
  /** Transactions were applied and are durable. */
  | ({ readonly kind: "applied" } & Applied)
  /** It failed; nothing was written. */
  | { readonly kind: "failed"; readonly message: string };

/** What came of applying transactions. */
export interface Applied {
  /** The result of each transaction; none means that all were applied. */
  readonly codes: readonly number[];
  /** Milliseconds that all but the commit took. */
  readonly workMs: number;
  /** Milliseconds that the commit took, however much there was to commit. */
  readonly commitMs: number;
}
