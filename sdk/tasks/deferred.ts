/**
 * A promise that other code settles. `Promise.withResolvers()` is not used,
 * because Node has it only from 22 on.
 *
 * @module
 */

/** A promise and the functions that settle it. */
interface Deferred {
  /** The promise. */
  readonly promise: Promise<void>;
  /** Fulfils it. */
  readonly resolve: () => void;
  /** Rejects it. */
  readonly reject: (reason: unknown) => void;
}

/** Returns a pending promise and the functions that settle it. */
export function deferred(): Deferred {
  let resolve: () => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
