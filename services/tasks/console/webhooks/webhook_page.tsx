/**
 * The page of a webhook: how it is, what it is sent, its newest deliveries, and
 * what can be done with it.
 *
 * @module
 */

import type { VNode } from "preact";
import { FactList, Live, Note, Time } from "../../../shared/console/parts.tsx";
import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
} from "../parts/page.ts";
import {
  actOnReceiver,
  askNewest,
  NewestDeliveries,
  ReceiverActions,
} from "./receiver_parts.tsx";
import { shownOncePage } from "../parts/shown_once.tsx";
import { webhookPath } from "./webhook_form_page.tsx";
import {
  type ShownWebhook,
  WebhookBadge,
  webhookName,
  WebhookSentence,
} from "./webhook_parts.tsx";

/** Shows a webhook. */
export async function webhookPage(page: PageCall): Promise<PageAnswer> {
  return await showWebhook(page);
}

/** Does what a button of a webhook's page says. */
export async function actOnWebhook(page: PageCall): Promise<PageAnswer> {
  const path = webhookPath(page);
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
    back: page.path.split("?", 1)[0] ?? "",
    backText: "To the webhook",
  });
}

async function showWebhook(
  page: PageCall,
  result?: ShownResult,
): Promise<PageAnswer> {
  const { base } = page;
  const answer = await page.ask({ path: webhookPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const webhook = answer.body as ShownWebhook;
  const deliveries = await askNewest(page, webhook.id);
  const isWriter = may(page, "webhooks:write");
  const here = `${base}/webhooks/${webhook.id}`;
  const { enabled, failing_since: failing } = webhook;
  return refusalOf(deliveries) ?? {
    kind: "page",
    title: `Webhook ${webhookName(webhook)}`,
    heading: <span>{webhookName(webhook)}</span>,
    actions: isWriter ? <a class="button" href={`${here}/edit`}>Edit</a> : null,
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
            >
              <button
                type="submit"
                name="action"
                value="rotate"
                data-confirm="Replace the secret? The old one signs beside the new one for 24 hours."
              >
                Replace secret
              </button>
            </ReceiverActions>
          )
          : null}
        {result === undefined ? null : <CallResult result={result} />}
        <Definition webhook={webhook} base={base} />
        <NewestDeliveries page={page} id={webhook.id} answer={deliveries} />
      </>
    ),
  };
}

function Definition(
  { webhook, base }: {
    readonly webhook: ShownWebhook;
    readonly base: string;
  },
): VNode {
  const { worker } = webhook;
  return (
    <section aria-labelledby="definition">
      <h2 id="definition">Definition</h2>
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
    </section>
  );
}
