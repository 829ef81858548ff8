/**
 * Types of jobs: what their tasks are given and what they result in, checked
 * when the program is compiled.
 *
 * @module
 */

import type { Duration, NewTask, Repeat, Task } from "./api_types.ts";

/** What the tasks of a job are given, and what they result in. */
export interface JobType {
  /** The data; anything when absent. */
  readonly data?: unknown;
  /** The result; anything when absent. */
  readonly result?: unknown;
  /** What its waits save; anything when absent. */
  readonly state?: unknown;
}

/** Jobs by their names, such as `{ mail: { data: Mail; result: Sent } }`. */
export type JobTypes<Jobs> = { readonly [Job in keyof Jobs]: JobType };

/** Jobs of any name, with any data and any result. */
export type AnyJobs = Readonly<Record<string, JobType>>;

/** What the jobs are called, as a union. */
export type JobName<Jobs> = keyof Jobs & string;

/** What the tasks of a job are given. */
export type JobData<Jobs, Job extends keyof Jobs> = Jobs[Job] extends
  { readonly data: infer Data } ? Data : unknown;

/** What the tasks of a job result in. */
export type JobResult<Jobs, Job extends keyof Jobs> = Jobs[Job] extends
  { readonly result: infer Result } ? Result : unknown;

/** What the waits of a job's tasks save. */
export type JobState<Jobs, Job extends keyof Jobs> = Jobs[Job] extends
  { readonly state: infer State } ? State : unknown;

/** An instant, in RFC 3339 or as a `Date`. */
export type Time = string | Date;

/** How a task repeats. */
export interface RepeatRule extends Omit<Repeat, "until"> {
  /** When it stops to repeat. */
  readonly until?: Time | null | undefined;
}

/** The times of a task to be made or changed. */
export interface TaskTimes {
  /** When to run first; now when absent, and what has passed is due at once. */
  readonly date?: Time | null | undefined;
  /** When it expires if it has not started; null for never. */
  readonly expires?: Time | Duration | null | undefined;
  /** How it repeats; null when it does not. */
  readonly repeat?: RepeatRule | null | undefined;
}

/** The job of a task to be made, and its data. */
export type NewJob<Jobs, Job extends keyof Jobs> = string extends keyof Jobs
  ? Pick<NewTask, "job" | "data">
  : unknown extends JobData<Jobs, Job>
    ? { readonly job: Job; readonly data?: unknown }
  : { readonly job: Job; readonly data: JobData<Jobs, Job> };

/** A task to be made, of one of these jobs. */
export type NewTaskOf<Jobs, Job extends keyof Jobs> =
  & Omit<NewTask, keyof TaskTimes | "job" | "data">
  & TaskTimes
  & NewJob<Jobs, Job>;

/** A task, of one of these jobs. */
export type TaskOf<Jobs, Job extends keyof Jobs> = string extends keyof Jobs
  ? Task
  : {
    readonly [Name in Job]: Omit<Task, "job" | "data" | "result"> & {
      /** The handler within the worker. */
      readonly job: Name;
      /** What the job is given; absent for callers who see none. */
      readonly data?: JobData<Jobs, Name> | undefined;
      /** What the last success returned; null before. */
      readonly result: JobResult<Jobs, Name> | null;
    };
  }[Job];
