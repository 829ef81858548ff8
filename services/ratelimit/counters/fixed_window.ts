/**
 * Window arithmetic: windows are multiples of their length since the Unix
 * epoch in UTC, so weeks begin on Thursday.
 *
 * @module
 */

/** First second of the window that `nowSeconds` falls into. */
export function windowStartSeconds(
  nowSeconds: number,
  windowSeconds: number,
): number {
  return nowSeconds - nowSeconds % windowSeconds;
}

/** Seconds to the end of the window, from 1 to `windowSeconds`. */
export function secondsUntilReset(
  nowSeconds: number,
  windowSeconds: number,
): number {
  return windowSeconds - nowSeconds % windowSeconds;
}
