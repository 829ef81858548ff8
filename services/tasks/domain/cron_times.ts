/**
 * The times of a day that a cron expression matches.
 *
 * @module
 */

/** The values of a day's time that an expression matches. */
export interface CronTimes {
  /** Matching hours, rising. */
  readonly hours: readonly number[];
  /** Matching minutes, rising. */
  readonly minutes: readonly number[];
  /** Matching seconds, rising. */
  readonly seconds: readonly number[];
}

/** The seconds of a day. */
export const DAY_SECONDS = 86_400;

/** The first matching second of a day from `second` on, if there is one. */
export function firstTime(
  times: CronTimes,
  second: number,
): number | undefined {
  return nearest(times, second, {
    beyond: (values, bound) => values.find((value) => value > bound),
    end: (values) => values[0],
  });
}

/** The last matching second of a day up to `second`, if there is one. */
export function lastTime(
  times: CronTimes,
  second: number,
): number | undefined {
  return nearest(times, second, {
    beyond: (values, bound) => values.findLast((value) => value < bound),
    end: (values) => values.at(-1),
  });
}

type Values = readonly number[];

/** Which way is looked. */
interface Direction {
  /** The value next to a bound, which is not that one. */
  readonly beyond: (values: Values, bound: number) => number | undefined;
  /** The value that comes first. */
  readonly end: (values: Values) => number | undefined;
}

function nearest(
  { hours, minutes, seconds }: CronTimes,
  second: number,
  direction: Direction,
): number | undefined {
  if (second < 0 || second >= DAY_SECONDS) return undefined;
  const bounds = [
    Math.floor(second / 3_600),
    Math.floor(second / 60) % 60,
    second % 60,
  ];
  return combined([hours, minutes, seconds], bounds, direction)
    ?.reduce((sum, value) => sum * 60 + value, 0);
}

/** The combination of values next to the bounds, those themselves if they match. */
function combined(
  [values, ...others]: readonly Values[],
  [bound = 0, ...bounds]: readonly number[],
  direction: Direction,
): readonly number[] | undefined {
  if (values === undefined) return [];
  if (values.includes(bound)) {
    const rest = combined(others, bounds, direction);
    if (rest !== undefined) return [bound, ...rest];
  }
  const next = direction.beyond(values, bound);
  return next === undefined
    ? undefined
    : [next, ...others.map((other) => direction.end(other) ?? 0)];
}
