/**
 * The interface through which another queue is measured.
 *
 * @module
 */

/** Another queue, connected to its server. */
export interface Peer {
  /** Adds a job; resolves once it is stored durably. */
  add(data: unknown): Promise<unknown>;
  /** Adds many jobs at once. */
  addMany(data: readonly unknown[]): Promise<unknown>;
  /**
   * Runs jobs as fast as the queue can; each job does nothing but call `onJob`.
   * Returns a function that stops the work.
   */
  work(onJob: () => void): Promise<() => Promise<void>>;
  /** Closes the connections of the queue. */
  close(): Promise<void>;
}

/** A class or function of a package that is imported at run time. */
export type Importable = (...args: readonly unknown[]) => unknown;

/**
 * Imports a package that is not a dependency of the project, so that its name
 * must not be known before run time.
 *
 * @throws {Error} When the package can't be downloaded.
 */
export async function importPackage(
  name: string,
): Promise<Readonly<Record<string, unknown>>> {
  const specifier = `npm:${name}`;
  return await import(specifier);
}
