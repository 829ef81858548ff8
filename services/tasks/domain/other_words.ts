/**
 * What users of other systems write, and what to write here instead: faults of
 * fields that BullMQ, pg-boss, Sidekiq, Celery and others have lead to ours.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { reworded } from "../../shared/schema/composite.ts";
import type { Fault } from "../../shared/schema/fault.ts";
import type { Schema } from "../../shared/schema/schema.ts";

/** What to write instead of what is refused. */
interface Guide {
  /**
   * Instead of an unknown field. Each key lists names, in lower case without
   * `_` and `-`, between blanks.
   */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Instead of the whole value; undefined when nothing better is known. */
  readonly value?: ((value: unknown) => string | undefined) | undefined;
}

/** The same schema, whose faults also tell what to write instead. */
export function guided<T>(schema: Schema<T>, guide: Guide): Schema<T> {
  return reworded(
    schema,
    (fault, place) => guidedFault(fault, { ...place, guide }),
  );
}

/** A fault that also tells what to write instead, if the guide knows. */
export function guidedFault(
  fault: Fault,
  { value, at, guide }: {
    /** The value that the guide is about. */
    readonly value: unknown;
    /** The pointer of that value. */
    readonly at: string;
    /** What is known about it. */
    readonly guide: Guide;
  },
): Fault {
  const { pointer, code, detail } = fault;
  if (pointer === at) {
    const instead = guide.value?.(value);
    return instead === undefined
      ? fault
      : { ...fault, detail: `${detail}; ${instead}` };
  }
  const name = pointer.slice(at.length + 1);
  const instead = findReplacement(name, guide);
  if (instead === undefined) return fault;
  switch (code) {
    case "unknown_field": {
      const shown = quote(name, { maxChars: 64 });
      const state = `Cannot accept field ${shown}: it is unknown`;
      return { ...fault, detail: `${state}; ${instead}` };
    }
    case "read_only":
      return { ...fault, detail: `${detail}; ${instead}` };
    default:
      return fault;
  }
}

function findReplacement(
  name: string,
  { fields = {} }: Guide,
): string | undefined {
  const plain = name.toLowerCase().replaceAll(/[_-]/g, "");
  return Object.entries(fields)
    .find(([names]) => names.split(" ").includes(plain))?.[1];
}

const LIMIT = 'write "retry": {"limit": 3} for three retries after the first ' +
  "try";
const TRIES = 'write "retry": {"limit": 2} for three attempts: it counts ' +
  "those after the first";

/** What to write in a task instead of the fields of others. */
export const TASK_WORDS: Guide = {
  fields: {
    "retries maxretries retrylimit retrycount": LIMIT,
    "attempts maxattempts maxtries tries": TRIES,
    "backoff retrybackoff retrydelay retryinterval defaultretrydelay retryin":
      'write "retry": {"limit": 3, "interval": "PT10S"}, with "backoff": ' +
      '"exponential" where the delay shall grow',
    "cron crontab schedule pattern cronexpression":
      'write "repeat": {"cron": "0 7 * * *"}',
    "every interval repeatevery": 'write "repeat": {"interval": "PT1H"}',
    "catchup jitter until onfailure mode": 'write it within "repeat"',
    "tz zone": 'write "timezone"',
    [
      "runat startat startafter scheduledat scheduledfor scheduletime eta at " +
      "performat notbefore starttime"
    ]: 'write "date": "2027-01-15T08:00:00Z", or "delay" from now',
    "countdown delayms delayseconds delayinms startin performin in wait":
      'write "delay": "PT30S"; a number counts seconds',
    [
      "timeoutms timeoutseconds expirein expireinseconds expireinminutes " +
      "timelimit softtimelimit maxduration reservefor lockduration"
    ]: 'write "timeout": "PT30S", which bounds an attempt; a number counts ' +
      "milliseconds",
    "ttl expiresat expiresin expiry": 'write "expires"',
    [
      "removeoncomplete removeonfail removeonsuccess retention " +
      "retentionseconds deleteafter deleteafterseconds keep"
    ]: 'write "retain": {"succeeded": "P1D", "failed": "P30D"}',
    "name jobname type task taskname class identifier handler function":
      'write "job"',
    "payload args kwargs params parameters input body message":
      'write "data", which is any JSON',
    "queue queuename workerid workername": 'write "worker"',
    [
      "id jobid taskid singletonkey uniquekey unique uniqueid dedupid " +
      "deduplication deduplicationid jobkey idempotencykey"
    ]: 'write "key": a worker has one live task with it',
    "groupid concurrencykey flowcontrolkey partition partitionkey":
      'write "group"',
    "dependson parentid parents parent children after":
      'write "dependencies", with the ids of tasks that have to succeed before',
    "webhook webhookurl callbackurl oncomplete": 'write "callback"',
    "meta labels headers": 'write "metadata"',
  },
};

/** What to write instead of a value that is no retry policy. */
export const RETRY_WORDS: Guide = {
  fields: {
    "retries maxretries retrylimit count max times":
      'write "limit", the retries after the first try',
    "attempts maxattempts maxtries tries":
      'write "limit", which counts the tries after the first: one less',
    [
      "delay initialinterval initialdelay retrydelay minbackoff mintimeout " +
      "wait intervalms delayms"
    ]: 'write "interval": "PT10S"; a number counts seconds',
    "maxdelay maxbackoff retrydelaymax maxtimeout maximuminterval":
      'write "max_interval": "PT1H"',
    "type strategy retrybackoff exponential":
      'write "backoff": "fixed", "linear" or "exponential"',
    "multiplier coefficient backoffcoefficient base": 'write "factor"',
    "randomize retryjitter": 'write "jitter": "none", "equal" or "full"',
    "maxretryduration maxduration until": 'write "for": "PT1H"',
  },
  value: (value) =>
    typeof value === "number"
      ? `write {"limit": ${value}}`
      : value === false
      ? "write null for no retries"
      : 'write {"limit": 3, "interval": "PT10S"}',
};

/** What to write instead of a backoff that is an object, a number or true. */
export const BACKOFF_WORDS: Guide = {
  value: (value) =>
    typeof value === "string"
      ? undefined
      : 'write "backoff": "exponential" with "interval": "PT1S" beside it',
};

/** What to write instead of a value that is no repeat rule. */
export const REPEAT_WORDS: Guide = {
  fields: {
    "pattern crontab expression schedule cronexpression": 'write "cron"',
    "every seconds minutes hours days":
      'write "interval": "PT1H"; a number counts seconds',
    "count times max maxruns": 'write "limit", the runs after the first',
    "end enddate endat endsat": 'write "until": "2027-12-31T00:00:00Z"',
    "tz timezone zone": 'write "timezone" beside "repeat"',
    "start startdate startat immediately": 'write "date" beside "repeat"',
    "offset": 'write "date" beside "repeat": the first run, from which an ' +
      "interval counts",
  },
  value: (value) =>
    typeof value === "string"
      ? 'write {"cron": "0 7 * * *"} or {"interval": "PT1H"}'
      : 'write {"interval": "PT1H"}',
};

/** What to write instead of a priority that is out of bounds. */
export const PRIORITY_WORDS: Guide = {
  value: () =>
    "write -9 to 9, of which the higher goes first, other than in BullMQ",
};

/** What to write instead of a date that is a number. */
export const DATE_WORDS: Guide = {
  value: (value) =>
    typeof value === "number" ? `write ${dateLike(value)}` : undefined,
};

/** A number of milliseconds or seconds since the epoch as a date. */
function dateLike(value: number): string {
  const date = new Date(Math.abs(value) < 1e11 ? value * 1_000 : value);
  const isDate = !Number.isNaN(date.getTime());
  return isDate ? `"${date.toISOString()}"` : '"2027-01-15T08:00:00Z"';
}

/** What to write in a worker instead of the fields of others. */
export const WORKER_WORDS: Guide = {
  fields: {
    [
      "maxconcurrency concurrencylimit parallelism teamsize teamconcurrency " +
      "slots threads"
    ]: 'write "concurrency"',
    "limiter ratelimit rate throttle":
      'write "limits": {"rate": 10, "period": "PT1S"}',
    "groupconcurrency": 'write "limits": {"group_concurrency": 5}',
    "retries maxretries retrylimit": LIMIT,
    "attempts maxattempts": TRIES,
    "backoff retrybackoff retrydelay retryinterval":
      'write "retry": {"limit": 3, "interval": "PT10S"}',
    "timeoutms maxduration expireinseconds timelimit": 'write "timeout"',
    "lockduration visibilitytimeout reservefor leasems": 'write "lease"',
    "maxstalledcount maxstalled": 'write "max_lost"',
    "endpoint target targeturl webhook webhookurl address": 'write "url"',
    "removeoncomplete removeonfail retention retentionseconds":
      'write "retain": {"succeeded": "P1D", "failed": "P30D"}',
    "secrets secret": "post them to /v1/workers/{id}/secrets",
    "queue queuename": 'write "name"',
  },
};

/** What to write in the limits of a worker instead of the fields of others. */
export const LIMITS_WORDS: Guide = {
  fields: {
    "max limit count": 'write "rate"',
    "duration window interval": 'write "period": "PT1S"',
    "concurrency": 'write "concurrency" beside "limits", or ' +
      '"group_concurrency" for each group',
  },
};
