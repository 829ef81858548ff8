/**
 * Values that are mostly at hand. To wait for what is there already costs a
 * promise and a turn of the queue each time, which adds up where every request
 * asks for a dozen such things.
 *
 * @module
 */

/** A value that is at hand, or one that has to be waited for. */
export type Soon<T> = T | Promise<T>;

/** Goes on at once with a value that is at hand, and later with another one. */
export function soon<A, B>(
  value: Soon<A>,
  next: (value: A) => Soon<B>,
): Soon<B> {
  return value instanceof Promise ? value.then(next) : next(value);
}
