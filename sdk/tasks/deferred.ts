/**
 * A promise that is settled from outside. `Promise.withResolvers()` is not in Node
 * before 22.
 *
 * @module
 */

/** A promise and what settles it. */
interface Deferred {
  /** The promise. */
  readonly promise: Promise<void>;
  /** Fulfils it. */
  readonly resolve: () => void;
  /** Rejects it. */
  readonly reject: (reason: unknown) => void;
}

/** A promise that has not settled. */
export function deferred(): Deferred {
  let resolve: () => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
