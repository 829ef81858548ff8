/**
 * The pages of webhooks: the list, and each with how it is, what it is sent and
 * its newest deliveries.
 *
 * @module
 */

import { formatCount, Time } from "../../../shared/console/parts.tsx";
import { ALL, listPage } from "../parts/list.tsx";
import { type PageAnswer, type PageCall, pathOf } from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import { receiverPage, type ReceiverPages } from "./receiver_page.tsx";
import {
  type ShownWebhook,
  WebhookBadge,
  webhookName,
  WebhookSentence,
} from "./webhook_parts.tsx";

/** Shows all webhooks. */
export async function webhookListPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  return await listPage<ShownWebhook>(page, {
    title: "Webhooks",
    id: "webhooks",
    question: { path: "/v1/webhooks", query: ALL },
    links: [
      ["/deliveries", "Deliveries"],
      ["/webhooks/new", "New webhook", "webhooks:write"],
    ],
    empty: "There are no webhooks yet. A webhook is told what happens, by " +
      "signed calls to its address.",
    columns: [
      {
        name: "Webhook",
        cell: (webhook) => (
          <a href={`${base}/webhooks/${webhook.id}`}>{webhookName(webhook)}</a>
        ),
      },
      { name: "Status", cell: (webhook) => <WebhookBadge webhook={webhook} /> },
      {
        name: "Since",
        at: ({ disabled_at: off, failing_since: failing }) => off ?? failing,
        nowMs,
      },
      { name: "Types", cell: ({ types }) => types.join(", ") },
      {
        name: "Under way",
        isNumber: true,
        cell: ({ open_deliveries: open }) => formatCount(open),
      },
    ],
  });
}

/** The page of a webhook. */
export const WEBHOOK_PAGE: ReceiverPages = receiverPage<ShownWebhook>({
  noun: "webhook",
  nameOf: webhookName,
  isWell: ({ enabled, failing_since: failing }) => enabled && failing === null,
  state: (webhook) => (
    <>
      <WebhookBadge webhook={webhook} /> <WebhookSentence webhook={webhook} />
    </>
  ),
  question: "Remove this webhook? What it has not been sent yet is not sent.",
  more: [{
    value: "rotate",
    text: "Replace secret",
    kind: "",
    question: "Replace the secret? The old one signs beside the new one for " +
      "24 hours.",
  }],
  facts: ({ url, types, worker, job, group, missed_at: missed }, base) => [
    ["URL", <code>{url}</code>],
    [
      "Types",
      types.map((type) => (
        <>
          <code>{type}</code>
          {" "}
        </>
      )),
    ],
    ["Worker", worker && <a href={`${base}/workers/${worker}`}>{worker}</a>],
    ["Job", job],
    ["Group", group],
    [
      "Lost events",
      missed && (
        <span>
          The log was full, last <Time at={missed} />.
        </span>
      ),
    ],
  ],
});

/** Does what a button of a webhook's page says. */
export async function actOnWebhook(page: PageCall): Promise<PageAnswer> {
  if (page.form.get("action") !== "rotate") return await WEBHOOK_PAGE.act(page);
  const path = `${pathOf("webhooks", page)}/rotate`;
  return await page.show<ShownWebhook>(
    { method: "POST", path },
    (webhook) =>
      shownOncePage({
        title: `Webhook ${webhookName(webhook)}`,
        about: "Its secret is replaced. The old one signs beside this one " +
          "for 24 hours.",
        secrets: [["Signing secret", webhook.signing_secret ?? ""]],
        back: [page.here, "To the webhook"],
      }),
  );
}
