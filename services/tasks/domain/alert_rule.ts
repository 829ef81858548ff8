/**
 * The conditions of alerts: that too much was counted within a time, or nothing.
 *
 * @module
 */

/** What alerts count, with the words for it. */
const COUNTS = {
  created: "tasks were created",
  started: "attempts began",
  succeeded: "attempts succeeded",
  failed: "attempts failed",
  lost: "attempts were lost",
  completed: "tasks were completed",
  missed: "runs of schedules were missed",
} as const;

/** A count that an alert looks at, as the kept counts call it. */
export type AlertCount = keyof typeof COUNTS;

/** All counts that alerts look at. */
export const ALERT_COUNTS: readonly AlertCount[] = Object.keys(
  COUNTS,
) as AlertCount[];

/** What a count counts, in words: "attempts failed". */
export function describeCount(count: AlertCount): string {
  return COUNTS[count];
}

/** When an alert is raised. */
export interface AlertRule {
  /** What is counted. */
  readonly count: AlertCount;
  /**
   * The alert is raised when more than that was counted; undefined when it is
   * raised by nothing.
   */
  readonly over?: number | undefined;
  /** Within how many milliseconds up to now. */
  readonly withinMs: number;
  /** Only tasks of this worker, by its id; of all when absent. */
  readonly workerId?: string | undefined;
  /** Only tasks of this job of the worker; of all when absent. */
  readonly job?: string | undefined;
}

/** Whether what was counted raises an alert. */
export function isRaised({ over }: AlertRule, counted: number): boolean {
  return over === undefined ? counted === 0 : counted > over;
}

/**
 * Says what has raised an alert: "more than 10 attempts failed within 5
 * minutes".
 */
export function describeRule({ count, over, withinMs }: AlertRule): string {
  const amount = over === undefined
    ? "no"
    : over === 0
    ? "some"
    : `more than ${over}`;
  return `${amount} ${COUNTS[count]} within ${describeTime(withinMs)}`;
}

function describeTime(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes % 60 === 0) {
    const hours = minutes / 60;
    return hours === 1 ? "an hour" : `${hours} hours`;
  }
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}
