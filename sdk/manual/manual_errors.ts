/**
 * Errors of a client that encrypts for itself, in addition to those that the
 * relayer causes.
 *
 * @module
 */

import { MemError } from "../memory/errors.ts";
import type { KeyServerFailure } from "../vault/key_server_client.ts";

/** Options of {@linkcode MemKeyServerError}. */
export interface MemKeyServerErrorOptions {
  /** Whether the same request may succeed later. */
  readonly isPassing: boolean;
  /** How many key servers gave keys. */
  readonly answered: number;
  /** How many key servers there are. */
  readonly total: number;
  /** How many shares are needed. */
  readonly threshold: number;
  /** Why the other key servers gave no keys. */
  readonly failures: readonly KeyServerFailure[];
}

/** Too few key servers gave keys, so that nothing can be decrypted. */
export class MemKeyServerError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemKeyServerError";
  /**
   * Whether the same request may succeed later: false when key servers refused.
   */
  readonly isPassing: boolean;
  /** How many key servers gave keys. */
  readonly answered: number;
  /** How many key servers there are. */
  readonly total: number;
  /** How many shares are needed. */
  readonly threshold: number;
  /** Why the other key servers gave no keys. */
  readonly failures: readonly KeyServerFailure[];

  /** Creates the error from what the key servers answered. */
  constructor(options: MemKeyServerErrorOptions) {
    const { answered, total, threshold, failures } = options;
    const reasons = failures.map(({ objectId, reason }) =>
      `${objectId.slice(0, 10)}…: ${reason}`
    );
    super(
      `Cannot decrypt memories: ${answered} of ${total} key servers gave ` +
        `keys and ${threshold} shares are needed; ${reasons.join("; ")}`,
    );
    this.isPassing = options.isPassing;
    this.answered = answered;
    this.total = total;
    this.threshold = threshold;
    this.failures = failures;
  }
}

/**
 * The ledger cannot be reached, its answer contradicts the configuration, or
 * the account is deactivated.
 */
export class MemLedgerError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemLedgerError";
}

/** A text could not be embedded. */
export class MemEmbeddingError extends MemError {
  /** Name of the class. */
  override readonly name: string = "MemEmbeddingError";
}
