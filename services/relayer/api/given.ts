/**
 * Members that may be undefined, made into members that may be absent.
 *
 * @module
 */

/** The members of `T` without undefined. */
export type Given<T> = {
  readonly [Name in keyof T]?: Exclude<T[Name], undefined>;
};

/** Leaves out what is undefined. */
export function given<T extends Readonly<Record<string, unknown>>>(
  members: T,
): Given<T> {
  const kept = Object.entries(members).filter(([, value]) =>
    value !== undefined
  );
  // What is left has the types it had.
  return Object.fromEntries(kept) as Given<T>;
}
