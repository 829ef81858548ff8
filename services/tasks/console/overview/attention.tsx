/**
 * The part of the overview that tells what needs attention.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  formatCount,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { alertName, type ShownAlert } from "../alerts/alert_pages.tsx";
import { type PageCall, type Texts, withQuery } from "../parts/page.ts";
import type { ShownError } from "../tasks/task_parts.tsx";
import {
  isTroubled,
  type ShownWebhook,
  webhookName,
  WebhookSentence,
} from "../webhooks/webhook_parts.tsx";

/** A worker, or a job of one, that has late tasks and asks for none. */
export type ShownSilence =
  & Texts<"worker", "late_since" | "last_seen_at">
  & Partial<Texts<"job">>
  & { readonly late: number; readonly late_is_exact: boolean };

/** A schedule whose last run failed. */
export type ShownFailing =
  & Texts<"id" | "worker" | "job" | "failed_at", "key" | "next">
  & { readonly error: ShownError | null };

/** What of the API's overview needs attention. */
export interface ShownAttention {
  /** Schedules whose last run failed. */
  readonly failing_schedules: readonly ShownFailing[];
  /** Tasks that wait for the approval of a person. */
  readonly approvals: number;
  /** Whether that is all of them. */
  readonly approvals_is_exact: boolean;
  /** Workers that ask for nothing. */
  readonly silent_workers: readonly ShownSilence[];
  /** Jobs that no process asks for. */
  readonly unasked_jobs: readonly ShownSilence[];
  /** Limits of the plan that are nearly used up; null where hidden. */
  readonly near_limits:
    | readonly (Texts<"limit"> & Readonly<Record<"allowed" | "used", number>>)[]
    | null;
}

/** Tells what needs attention, or that nothing does. */
export function Attention(
  { page, overview, webhooks, alerts }: {
    readonly page: PageCall;
    readonly overview: ShownAttention;
    /** All webhooks that the reader sees. */
    readonly webhooks: readonly ShownWebhook[];
    /** All alerts that the reader sees. */
    readonly alerts: readonly ShownAlert[];
  },
): VNode {
  const { base, nowMs } = page;
  const { failing_schedules: failing, silent_workers: silent } = overview;
  const { unasked_jobs: unasked, near_limits: near, approvals } = overview;
  const { approvals_is_exact: isExact } = overview;
  const items = [
    ...alerts.filter(({ raised_at: at }) => at !== null).map((alert) => (
      <li>
        The alert <a href={`${base}/alerts/${alert.id}`}>{alertName(alert)}</a>
        {" "}
        was raised <Time at={alert.raised_at} nowMs={nowMs} />
        {alert.name === "" ? "." : `: ${alert.condition}.`}
      </li>
    )),
    ...approvals === 0 ? [] : [
      <li>
        <a href={`${base}/tasks?waiting=approval`}>
          {formatCount(approvals) + (isExact ? "" : " or more") +
            (approvals === 1 ? " task" : " tasks")}
        </a>{" "}
        {approvals === 1 ? "waits" : "wait"} for approval.
      </li>,
    ],
    ...[...silent, ...unasked].map((queue) => (
      <Silence page={page} queue={queue} />
    )),
    ...failing.map((task) => <Failing page={page} task={task} />),
    ...webhooks.filter(isTroubled).map((webhook) => (
      <li>
        The webhook{" "}
        <a href={`${base}/webhooks/${webhook.id}`}>{webhookName(webhook)}</a>
        {webhook.enabled ? " fails. " : " is disabled. "}
        <WebhookSentence webhook={webhook} />
      </li>
    )),
    ...(near ?? []).map(({ limit, allowed, used }) => (
      <li>
        {`${formatCount(used)} of ${formatCount(allowed)} ` +
          `${limit.replaceAll("_", " ")} of the plan are used.`}
      </li>
    )),
  ];
  return (
    <Section id="attention" title="Needs attention">
      {items.length === 0
        ? <p class="good">Nothing needs attention.</p>
        : (
          <Note tone="warn">
            <ul>{items}</ul>
          </Note>
        )}
    </Section>
  );
}

function Silence(
  { page: { base, nowMs }, queue }: {
    readonly page: PageCall;
    readonly queue: ShownSilence;
  },
): VNode {
  const { worker, job, late, late_is_exact: isExact } = queue;
  const first = { status: "active", sort: "date", order: "asc" };
  const href = withQuery(`${base}/tasks`, { worker, job, ...first });
  return (
    <li>
      <a href={href}>{job === undefined ? worker : `${worker} · ${job}`}</a>
      {queue.last_seen_at === null
        ? " has not asked for tasks since the service was started"
        : (
          <>
            {" last asked for tasks "}
            <Time at={queue.last_seen_at} nowMs={nowMs} />
          </>
        )}
      {`; ${formatCount(late)}${isExact ? "" : "+"} late, the oldest due `}
      <Time at={queue.late_since} nowMs={nowMs} />.
    </li>
  );
}

function Failing(
  { page: { base, nowMs }, task }: {
    readonly page: PageCall;
    readonly task: ShownFailing;
  },
): VNode {
  const { id, worker, job, key, error, next } = task;
  return (
    <li>
      The schedule{" "}
      <a href={`${base}/tasks/${encodeURIComponent(id)}`}>
        {key ?? `${worker} · ${job}`}
      </a>
      {" failed "}
      <Time at={task.failed_at} nowMs={nowMs} />
      {error === null ? "" : `: ${error.code}: ${error.message}`}
      {next === null ? ". It has ended." : (
        <>
          {Date.parse(next) > nowMs ? "; it runs next " : "; its run was due "}
          <Time at={next} nowMs={nowMs} />.
        </>
      )}
    </li>
  );
}
