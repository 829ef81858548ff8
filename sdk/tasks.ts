/**
 * Client of the tasks service: {@linkcode TasksClient} creates and manages
 * tasks, {@linkcode Worker} executes them, and {@linkcode verifyWebhook}
 * verifies the calls that a push worker gets. Runs in Deno, Node from 20 on,
 * Bun and browsers.
 *
 * @module
 */

export type * from "./tasks/api_types.ts";
export type {
  AnyJobs,
  JobData,
  JobName,
  JobResult,
  JobState,
  JobType,
  JobTypes,
  NewJob,
  NewTaskOf,
  RepeatRule,
  TaskOf,
  TaskTimes,
  Time,
} from "./tasks/job_types.ts";
export { AlertsClient } from "./tasks/alerts_client.ts";
export { CalendarsClient } from "./tasks/calendars_client.ts";
export {
  enqueue,
  type EnqueuedTask,
  type EnqueueOptions,
  type EnqueueQuery,
} from "./tasks/enqueue.ts";
export type { EventsOptions, TenantEvent } from "./tasks/events.ts";
export { KeysClient } from "./tasks/keys_client.ts";
export { type Page, PagedList } from "./tasks/pages.ts";
export {
  type CallOptions,
  type ChangeOptions,
  type MakeOptions,
  type TasksConnection,
} from "./tasks/service_calls.ts";
export {
  type BatchOutcome,
  type BulkRequest,
  type DecideOptions,
  type SchedulePreviewRequest,
  type TaskChange,
  TasksClient,
} from "./tasks/tasks_client.ts";
export type { WaitOptions } from "./tasks/task_end.ts";
export type {
  ActivityFilter,
  HistoryFilter,
  TaskFilter,
  TaskStatus,
} from "./tasks/task_queries.ts";
export {
  TasksError,
  type TasksErrorCode,
  type TasksErrorOptions,
} from "./tasks/tasks_error.ts";
export {
  type SecretPlace,
  type WorkerCredential,
  WorkersClient,
} from "./tasks/workers_client.ts";
export {
  type EventVerdict,
  type TaskCall,
  verifyEvent,
  verifyWebhook,
  type VerifyWebhookOptions,
  type WebhookVerdict,
} from "./tasks/webhook.ts";
export {
  type DeliveryFilter,
  WebhooksClient,
} from "./tasks/webhooks_client.ts";
export {
  type LeasedTask,
  type TaskAttemptContext,
  TaskFailure,
  type TaskHandler,
  WorkEnded,
} from "./tasks/task_handler.ts";
export {
  type Resumption,
  TaskWait,
  type TaskWaitOptions,
  waitFor,
} from "./tasks/task_wait.ts";
export { Worker } from "./tasks/worker.ts";
export type {
  JobHandlers,
  LeasedTaskOf,
  WorkerOptions,
} from "./tasks/worker_options.ts";
