/**
 * A task as documents show it.
 *
 * @module
 */

import type { JsonObject } from "../../../shared/schema/schema.ts";

const ID = "tsk_37efnd0000749gadqcbm8b2hrm";

/** The body of a request that makes a task. */
export const NEW_TASK_EXAMPLE: JsonObject = {
  worker: "mailer",
  job: "report",
  data: { account: 17 },
  repeat: { cron: "30 6 * * MON-FRI" },
  timezone: "Europe/Berlin",
  retry: { limit: 5, interval: "PT1M", backoff: "exponential" },
  tags: ["reports"],
};

/** The same task as it is answered. */
export const TASK_EXAMPLE: JsonObject = {
  id: ID,
  status: "scheduled",
  worker: "mailer",
  worker_id: "wrk_37efnd00004rtwvqb80bgq0kq4",
  job: "report",
  data: { account: 17 },
  date: "2027-01-18T05:30:00.000Z",
  first_date: "2027-01-15T08:00:00.000Z",
  timezone: "Europe/Berlin",
  repeat: {
    cron: "30 6 * * MON-FRI",
    catch_up: "one",
    catch_up_window: "PT24H",
    jitter: "PT0S",
    mode: "same",
    on_failure: "continue",
  },
  retry: { limit: 5, interval: "PT1M", backoff: "exponential" },
  timeout: null,
  expires: null,
  dependencies: [],
  on_dependency_failure: "fail",
  priority: 0,
  group: null,
  key: null,
  callback: null,
  tags: ["reports"],
  metadata: {},
  due: false,
  run: 0,
  executions: 0,
  retries: 0,
  repetitions: 0,
  last_outcome: null,
  lost: 0,
  missed: 0,
  lag: null,
  duration: null,
  result: null,
  error: null,
  attempt: null,
  next: [
    "2027-01-18T05:30:00.000Z",
    "2027-01-19T05:30:00.000Z",
    "2027-01-20T05:30:00.000Z",
  ],
  created_by: { type: "key", id: "dk_0123456789abcdef" },
  created_at: "2027-01-15T08:00:00.000Z",
  updated_at: "2027-01-15T08:00:00.000Z",
  started_at: null,
  finished_at: null,
  version: 1,
  links: {
    self: `/api/v1/tasks/${ID}`,
    history: `/api/v1/tasks/${ID}/history`,
    worker: "/api/v1/workers/wrk_37efnd00004rtwvqb80bgq0kq4",
  },
};
