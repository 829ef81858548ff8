/**
 * Webhooks as the API shows them, and the parts of pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, formatCount, Time } from "../../../shared/console/parts.tsx";
import type { Webhook } from "../../domain/records.ts";
import { askAll } from "../parts/list.tsx";
import type { PageCall, Texts } from "../parts/page.ts";

/** A webhook, with the fields that pages show. */
export type ShownWebhook =
  & Pick<Webhook, "id" | "name" | "url" | "types">
  & Texts<
    "created_at" | "updated_at",
    | "worker"
    | "job"
    | "group"
    | "disabled_at"
    | "failing_since"
    | "missed_at"
  >
  & {
    /** Whether events are sent. */
    readonly enabled: boolean;
    /** Why the service has disabled it. */
    readonly disabled_reason: "gone" | "failing" | null;
    /** How many deliveries are under way. */
    readonly open_deliveries: number;
    /** The secret of its calls; in the answer that made it alone. */
    readonly signing_secret?: string | null;
  };

/** All webhooks that the reader sees. */
export function askWebhooks(page: PageCall): Promise<readonly ShownWebhook[]> {
  return askAll(page, { path: "/v1/webhooks", scope: "webhooks:read" });
}

/** What a webhook is called: its name, or else its address. */
export function webhookName(
  { name, url }: Pick<ShownWebhook, "name" | "url">,
): string {
  return name === "" ? url : name;
}

/** Whether a webhook needs attention. */
export function isTroubled(webhook: ShownWebhook): boolean {
  return webhook.disabled_reason !== null ||
    webhook.enabled && webhook.failing_since !== null;
}

/** The state of a webhook in a word. */
export function WebhookBadge(
  { webhook }: { readonly webhook: ShownWebhook },
): VNode {
  const { enabled, disabled_reason: reason, failing_since: failing } = webhook;
  if (!enabled) {
    return (
      <Badge tone={reason === null ? "dim" : "bad"} isHollow>disabled</Badge>
    );
  }
  return failing === null
    ? <Badge tone="good">enabled</Badge>
    : <Badge tone="bad">failing</Badge>;
}

/** Says in a sentence how a webhook is. */
export function WebhookSentence(
  { webhook }: { readonly webhook: ShownWebhook },
): VNode {
  const { enabled, open_deliveries: open } = webhook;
  if (!enabled) {
    const why = webhook.disabled_reason === "gone"
      ? ": it answered 410, so its receiver is gone"
      : webhook.disabled_reason === "failing"
      ? ": each call of 5 days had failed"
      : "";
    return (
      <span>
        It is sent nothing since <Time at={webhook.disabled_at} />
        {`${why}.`}
      </span>
    );
  }
  const waiting = open === 0
    ? "No delivery is under way."
    : `${formatCount(open)} ${
      open === 1 ? "delivery is" : "deliveries are"
    } under way.`;
  return webhook.failing_since === null ? <span>{waiting}</span> : (
    <span>
      Each call has failed since <Time at={webhook.failing_since} />
      {`. ${waiting} It is disabled after 5 days.`}
    </span>
  );
}
