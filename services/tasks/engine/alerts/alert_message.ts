/**
 * What an alert sends: a text for people in the form of Slack, Discord or an
 * e-mail gateway, or an event of Standard Webhooks for programs.
 *
 * @module
 */

import { describeRule } from "../../domain/alert_rule.ts";
import { utcTime } from "../../domain/instant.ts";
import type { Alert } from "../../domain/records.ts";

/** What has happened to an alert. */
export type AlertNews = "raised" | "resolved" | "test";

/** The facts of a message. */
export interface AlertFacts {
  /** What has happened. */
  readonly news: AlertNews;
  /** The id of the message. */
  readonly id: string;
  /** What was counted. */
  readonly counted: number;
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The domain of the tenant. */
  readonly tenant: string;
  /** The name of the worker that it looks at, if it looks at one. */
  readonly worker?: string | undefined;
}

/** The most characters of a message of Discord. */
const MAX_DISCORD_CHARS = 2_000;

const HEADS: Readonly<Record<AlertNews, string>> = {
  raised: "Alert",
  resolved: "Resolved",
  test: "Test of an alert",
};

/** What an alert tells in events and in messages for programs. */
export function alertData(
  { id, name, when }: Alert,
  { counted, worker }: Pick<AlertFacts, "counted" | "worker">,
): Readonly<Record<string, unknown>> {
  return {
    alert: id,
    name,
    condition: describeRule(when),
    count: when.count,
    counted,
    worker: when.workerId,
    worker_name: worker,
    job: when.job,
  };
}

/** The body of the message of an alert. */
export function alertBody(alert: Alert, facts: AlertFacts): string {
  const { send } = alert;
  const { news, id, atMs } = facts;
  const line = alertText(alert, facts);
  switch (send.template) {
    case "slack":
      return JSON.stringify({ text: escapeSlack(line) });
    case "discord":
      return JSON.stringify({
        content: line.slice(0, MAX_DISCORD_CHARS).toWellFormed(),
        allowed_mentions: { parse: [] },
      });
    case "email":
      return JSON.stringify({
        from: send.from,
        to: send.to,
        subject: line.replaceAll(/\p{Cc}+/gu, " "),
        text: `${line}\n\n${utcTime(atMs)}\n`,
      });
    case "standard":
      return JSON.stringify({
        type: `alert.${news}`,
        timestamp: utcTime(atMs),
        id,
        data: alertData(alert, facts),
      });
  }
}

/** The message for people, as one line. */
function alertText(
  { name, when }: Alert,
  { news, counted, tenant, worker }: AlertFacts,
): string {
  const places = [
    tenant,
    ...worker === undefined ? [] : [`worker ${worker}`],
    ...when.job === undefined ? [] : [`job ${when.job}`],
  ].join(", ");
  const title = name === "" ? "" : `${name}: `;
  return `${HEADS[news]}: ${title}${
    describeRule(when)
  } (${counted}; ${places})`;
}

/** Escapes what Slack would take for markup or a mention. */
function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
