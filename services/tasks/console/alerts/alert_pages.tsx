/**
 * The pages of alerts: the list, and each with its state and its messages.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, Time } from "../../../shared/console/parts.tsx";
import type { Alert, AlertSend } from "../../domain/records.ts";
import { ALL, askAll, listPage } from "../parts/list.tsx";
import type { PageAnswer, PageCall, Texts } from "../parts/page.ts";
import { durationWords } from "../tasks/task_parts.tsx";
import {
  receiverPage,
  type ReceiverPages,
} from "../webhooks/receiver_page.tsx";

/** An alert, with the fields that pages show. */
export type ShownAlert =
  & Pick<Alert, "id" | "name">
  & Texts<"created_at" | "updated_at", "raised_at" | "last_raised_at">
  & {
    /** When it is raised: `count` and `within`, or `nothing` and `for`. */
    readonly when:
      & Partial<Texts<"count" | "within" | "nothing" | "for">>
      & Partial<Texts<"worker" | "job">>
      & { readonly over?: number };
    /** Where it is told. */
    readonly send: Omit<AlertSend, "authorization"> & {
      /** Whether calls have a header `Authorization`. */
      readonly has_authorization: boolean;
    };
    /** How long it is not raised again, in ISO 8601. */
    readonly quiet: string;
    /** Whether it is judged. */
    readonly enabled: boolean;
    /** `when` in words. */
    readonly condition: string;
    /** The secret of its calls; in the answer that made it alone. */
    readonly signing_secret?: string | null;
  };

/** What an alert is called: its name, or else its condition. */
export function alertName(
  { name, condition }: Pick<ShownAlert, "name" | "condition">,
): string {
  return name === "" ? condition : name;
}

/** All alerts that the reader sees. */
export function askAlerts(page: PageCall): Promise<readonly ShownAlert[]> {
  return askAll(page, { path: "/v1/alerts", scope: "webhooks:read" });
}

function AlertBadge({ alert }: { readonly alert: ShownAlert }): VNode {
  if (!alert.enabled) return <Badge tone="dim" isHollow>disabled</Badge>;
  return alert.raised_at === null
    ? <Badge tone="good" isHollow>quiet</Badge>
    : <Badge tone="bad">raised</Badge>;
}

/** Shows all alerts. */
export async function alertListPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  return await listPage<ShownAlert>(page, {
    title: "Alerts",
    id: "alerts",
    question: { path: "/v1/alerts", query: ALL },
    links: [["/alerts/new", "New alert", "webhooks:write"]],
    empty:
      "There are no alerts yet. An alert tells Slack, Discord, an e-mail " +
      "gateway or a program of yours when too much fails, or nothing happens.",
    columns: [
      {
        name: "Alert",
        cell: (alert) => (
          <a href={`${base}/alerts/${alert.id}`}>{alertName(alert)}</a>
        ),
      },
      {
        name: "State",
        isShort: true,
        cell: (alert) => <AlertBadge alert={alert} />,
      },
      { name: "Raised when", cell: ({ condition }) => condition },
      {
        name: "Last raised",
        at: ({ last_raised_at: at }) => at,
        nowMs,
        absent: "never",
      },
      { name: "Told as", cell: ({ send }) => send.template },
    ],
  });
}

/** The page of an alert. */
export const ALERT_PAGE: ReceiverPages = receiverPage<ShownAlert>({
  noun: "alert",
  nameOf: alertName,
  isWell: ({ raised_at: at }) => at === null,
  state: (alert) => (
    <>
      <AlertBadge alert={alert} /> <Sentence alert={alert} />
    </>
  ),
  question: "Remove this alert? Messages that wait are not sent.",
  facts: (
    { when: { worker, job }, send, last_raised_at: at, ...alert },
    base,
  ) => [
    ["Raised when", alert.condition],
    ["Worker", worker && <a href={`${base}/workers/${worker}`}>{worker}</a>],
    ["Job", job],
    ["Told as", send.template],
    ["URL", <code>{send.url}</code>],
    ["From", send.from],
    ["To", send.to],
    ["Authorization", send.has_authorization ? "sealed" : null],
    ["Raised again after", durationWords(alert.quiet)],
    ["Last raised", at && <Time at={at} />],
  ],
});

function Sentence({ alert }: { readonly alert: ShownAlert }): VNode {
  const { condition, enabled, raised_at: at } = alert;
  if (!enabled) return <span>It is not judged.</span>;
  return at === null ? <span>{`It is raised when ${condition}.`}</span> : (
    <span>
      Since <Time at={at} />
      {`: ${condition}.`}
    </span>
  );
}
