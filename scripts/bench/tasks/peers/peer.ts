/**
 * Another queue, as far as it is measured.
 *
 * @module
 */

/** A queue with its server. */
export interface Peer {
  /** Adds a job, durably. */
  add(data: unknown): Promise<unknown>;
  /** Adds many jobs at once. */
  addMany(data: readonly unknown[]): Promise<unknown>;
  /**
   * Runs jobs, as fast as it can, with what does nothing but tell that it was
   * called; gives what ends that.
   */
  work(onJob: () => void): Promise<() => Promise<void>>;
  /** Ends everything. */
  close(): Promise<void>;
}

/** A class or function of a package that is imported while running. */
export type Importable = (...args: readonly unknown[]) => unknown;

/**
 * A package that is no dependency: its name is not known before.
 *
 * @throws {Error} When it can't be had.
 */
export async function importPackage(
  name: string,
): Promise<Readonly<Record<string, unknown>>> {
  const specifier = `npm:${name}`;
  return await import(specifier);
}
