/**
 * Who asks, once that is known.
 *
 * @module
 */

/** Somebody whose signature was checked against an account. */
export interface Caller {
  /** The account object's id. */
  readonly accountId: string;
  /** The owner's address: what is kept is kept by it. */
  readonly owner: string;
  /** The delegate's public key, 64 hexadecimal digits. */
  readonly publicKey: string;
}
