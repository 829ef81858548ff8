/**
 * The pages of alerts: the list, and each with its state and its messages.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  FactList,
  Live,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import type { Alert, AlertSend } from "../../domain/records.ts";
import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import { ALL, askAll, LinkButton, LiveList } from "../parts/list.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";
import { durationWords } from "../tasks/task_parts.tsx";
import {
  actOnReceiver,
  askNewest,
  NewestDeliveries,
  ReceiverActions,
} from "../webhooks/receiver_parts.tsx";

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
  const question = { path: "/v1/alerts", query: ALL };
  return await page.show<ShownList<ShownAlert>>(question, (list) => ({
    kind: "page",
    title: "Alerts",
    actions: (
      <LinkButton
        page={page}
        to="/alerts/new"
        needs="webhooks:write"
        kind="primary"
      >
        New alert
      </LinkButton>
    ),
    content: (
      <LiveList
        page={page}
        id="alerts"
        label="Alerts"
        list={list}
        empty={"There are no alerts yet. An alert tells Slack, Discord, an " +
          "e-mail gateway or a program of yours when too much fails, or " +
          "nothing happens."}
        columns={[
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
        ]}
      />
    ),
  }));
}

/** Shows an alert. */
export async function alertPage(page: PageCall): Promise<PageAnswer> {
  return await showAlert(page);
}

/** Does what a button of an alert's page says. */
export async function actOnAlert(page: PageCall): Promise<PageAnswer> {
  const path = pathOf("alerts", page);
  return await actOnReceiver(page, { path, show: showAlert });
}

async function showAlert(
  page: PageCall,
  result?: ShownResult,
): Promise<PageAnswer> {
  const { base } = page;
  return await page.show<ShownAlert>(
    { path: pathOf("alerts", page) },
    async (alert) => {
      const deliveries = await askNewest(page, alert.id);
      const isWriter = may(page, "webhooks:write");
      return refusalOf(deliveries) ?? {
        kind: "page",
        title: `Alert ${alertName(alert)}`,
        heading: <span>{alertName(alert)}</span>,
        actions: (
          <LinkButton
            page={page}
            to={`/alerts/${alert.id}/edit`}
            needs="webhooks:write"
          >
            Edit
          </LinkButton>
        ),
        content: (
          <>
            <Live id="alert">
              <Note tone={alert.raised_at === null ? "busy" : "bad"}>
                <p class="lead">
                  <AlertBadge alert={alert} /> <Sentence alert={alert} />
                </p>
              </Note>
            </Live>
            {isWriter
              ? (
                <ReceiverActions
                  page={page}
                  isEnabled={alert.enabled}
                  question="Remove this alert? Messages that wait are not sent."
                />
              )
              : null}
            {result === undefined ? null : <CallResult result={result} />}
            <Definition alert={alert} base={base} />
            <NewestDeliveries page={page} id={alert.id} answer={deliveries} />
          </>
        ),
      };
    },
  );
}

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

function Definition(
  { alert: { when, send, ...alert }, base }: {
    readonly alert: ShownAlert;
    readonly base: string;
  },
): VNode {
  const { worker } = when;
  const { last_raised_at: at } = alert;
  return (
    <Section id="definition" title="Definition">
      <FactList
        facts={[
          ["Id", <code>{alert.id}</code>],
          ["Raised when", alert.condition],
          [
            "Worker",
            worker && <a href={`${base}/workers/${worker}`}>{worker}</a>,
          ],
          ["Job", when.job],
          ["Told as", send.template],
          ["URL", <code>{send.url}</code>],
          ["From", send.from],
          ["To", send.to],
          ["Authorization", send.has_authorization ? "sealed" : null],
          ["Raised again after", durationWords(alert.quiet)],
          ["Last raised", at && <Time at={at} />],
          ["Created", <Time at={alert.created_at} />],
          ["Changed", <Time at={alert.updated_at} />],
        ]}
      />
    </Section>
  );
}
