/**
 * The pages of webhooks: the list, and each with how it is, what it is sent and
 * its newest deliveries.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  FactList,
  formatCount,
  Live,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import { ALL, LinkButton, LiveList } from "../parts/list.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import {
  actOnReceiver,
  askNewest,
  NewestDeliveries,
  ReceiverActions,
} from "./receiver_parts.tsx";
import {
  type ShownWebhook,
  WebhookBadge,
  webhookName,
  WebhookSentence,
} from "./webhook_parts.tsx";

/** Shows all webhooks. */
export async function webhookListPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const question = { path: "/v1/webhooks", query: ALL };
  return await page.show<ShownList<ShownWebhook>>(question, (list) => ({
    kind: "page",
    title: "Webhooks",
    actions: (
      <>
        <LinkButton page={page} to="/deliveries">Deliveries</LinkButton>
        <LinkButton
          page={page}
          to="/webhooks/new"
          needs="webhooks:write"
          kind="primary"
        >
          New webhook
        </LinkButton>
      </>
    ),
    content: (
      <LiveList
        page={page}
        id="webhooks"
        label="Webhooks"
        list={list}
        empty={"There are no webhooks yet. A webhook is told what happens, " +
          "by signed calls to its address."}
        columns={[
          {
            name: "Webhook",
            cell: (webhook) => (
              <a href={`${base}/webhooks/${webhook.id}`}>
                {webhookName(webhook)}
              </a>
            ),
          },
          {
            name: "Status",
            cell: (webhook) => <WebhookBadge webhook={webhook} />,
          },
          {
            name: "Since",
            at: ({ disabled_at: off, failing_since: failing }) =>
              off ?? failing,
            nowMs,
          },
          { name: "Types", cell: ({ types }) => types.join(", ") },
          {
            name: "Under way",
            isNumber: true,
            cell: ({ open_deliveries: open }) => formatCount(open),
          },
        ]}
      />
    ),
  }));
}

const ROTATE = {
  value: "rotate",
  text: "Replace secret",
  kind: "",
  question: "Replace the secret? The old one signs beside the new one for 24 " +
    "hours.",
} as const;

/** Shows a webhook. */
export async function webhookPage(page: PageCall): Promise<PageAnswer> {
  return await showWebhook(page);
}

/** Does what a button of a webhook's page says. */
export async function actOnWebhook(page: PageCall): Promise<PageAnswer> {
  const path = pathOf("webhooks", page);
  if (page.form.get("action") !== "rotate") {
    return await actOnReceiver(page, { path, show: showWebhook });
  }
  const answer = await page.ask({ method: "POST", path: `${path}/rotate` });
  const webhook = answer.body as ShownWebhook;
  return refusalOf(answer) ?? shownOncePage({
    title: `Webhook ${webhookName(webhook)}`,
    about: "Its secret is replaced. The old one signs beside this one for 24 " +
      "hours.",
    secrets: [["Signing secret", webhook.signing_secret ?? ""]],
    back: page.here,
    backText: "To the webhook",
  });
}

async function showWebhook(
  page: PageCall,
  result?: ShownResult,
): Promise<PageAnswer> {
  const { base } = page;
  return await page.show<ShownWebhook>(
    { path: pathOf("webhooks", page) },
    async (webhook) => {
      const deliveries = await askNewest(page, webhook.id);
      const isWriter = may(page, "webhooks:write");
      const { enabled, failing_since: failing } = webhook;
      return refusalOf(deliveries) ?? {
        kind: "page",
        title: `Webhook ${webhookName(webhook)}`,
        heading: <span>{webhookName(webhook)}</span>,
        actions: (
          <LinkButton
            page={page}
            to={`/webhooks/${webhook.id}/edit`}
            needs="webhooks:write"
          >
            Edit
          </LinkButton>
        ),
        content: (
          <>
            <Live id="webhook">
              <Note tone={enabled && failing === null ? "busy" : "bad"}>
                <p class="lead">
                  <WebhookBadge webhook={webhook} />{" "}
                  <WebhookSentence webhook={webhook} />
                </p>
              </Note>
            </Live>
            {isWriter
              ? (
                <ReceiverActions
                  page={page}
                  isEnabled={enabled}
                  question="Remove this webhook? What it has not been sent yet is not sent."
                  more={[ROTATE]}
                />
              )
              : null}
            {result === undefined ? null : <CallResult result={result} />}
            <Definition webhook={webhook} base={base} />
            <NewestDeliveries page={page} id={webhook.id} answer={deliveries} />
          </>
        ),
      };
    },
  );
}

function Definition(
  { webhook, base }: {
    readonly webhook: ShownWebhook;
    readonly base: string;
  },
): VNode {
  const { worker } = webhook;
  return (
    <Section id="definition" title="Definition">
      <FactList
        facts={[
          ["Id", <code>{webhook.id}</code>],
          ["URL", <code>{webhook.url}</code>],
          [
            "Types",
            webhook.types.map((type) => (
              <>
                <code>{type}</code>
                {" "}
              </>
            )),
          ],
          [
            "Worker",
            worker && <a href={`${base}/workers/${worker}`}>{worker}</a>,
          ],
          ["Job", webhook.job],
          ["Group", webhook.group],
          [
            "Lost events",
            webhook.missed_at && (
              <span>
                The log was full, last <Time at={webhook.missed_at} />.
              </span>
            ),
          ],
          ["Created", <Time at={webhook.created_at} />],
          ["Changed", <Time at={webhook.updated_at} />],
        ]}
      />
    </Section>
  );
}
