/**
 * The page of a webhook: how it is, what it is sent, its newest deliveries, and
 * what can be done with it.
 *
 * @module
 */

import type { VNode } from "preact";
import { CsrfField } from "../../shared/console/layout.tsx";
import { FactList, Live, Note, Time } from "../../shared/console/parts.tsx";
import { CallResult, type ShownResult } from "./call_result.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
} from "./page.ts";
import { shownOncePage } from "./shown_once.tsx";
import { webhookPath } from "./webhook_form_page.tsx";
import {
  DeliveryTable,
  type ShownDelivery,
  type ShownWebhook,
  WebhookBadge,
  webhookName,
  WebhookSentence,
} from "./webhook_parts.tsx";

/** Deliveries that the page shows. */
const DELIVERIES = 10;

/** Shows a webhook. */
export async function webhookPage(page: PageCall): Promise<PageAnswer> {
  return await showWebhook(page);
}

/** Does what a button of a webhook's page says. */
export async function actOnWebhook(page: PageCall): Promise<PageAnswer> {
  const { base, form } = page;
  const path = webhookPath(page);
  const [here = ""] = page.path.split("?", 1);
  switch (form.get("action")) {
    case "remove": {
      const answer = await page.ask({ method: "DELETE", path });
      return refusalOf(answer) ??
        { kind: "redirect", to: `${base}/webhooks?done=removed` };
    }
    case "rotate": {
      const answer = await page.ask({ method: "POST", path: `${path}/rotate` });
      const webhook = answer.body as ShownWebhook;
      return refusalOf(answer) ?? shownOncePage({
        title: `Webhook ${webhookName(webhook)}`,
        about: "Its secret is replaced. The old one signs beside this one " +
          "for 24 hours.",
        secrets: [["Signing secret", webhook.signing_secret ?? ""]],
        back: here,
        backText: "To the webhook",
      });
    }
    case "test": {
      const answer = await page.ask({ method: "POST", path: `${path}/test` });
      return refusalOf(answer) ??
        await showWebhook(page, answer.body as ShownResult);
    }
    default: {
      const answer = await page.ask({
        method: "PATCH",
        path,
        body: { enabled: form.get("action") === "enable" },
      });
      return refusalOf(answer) ??
        { kind: "redirect", to: `${here}?done=saved` };
    }
  }
}

async function showWebhook(
  page: PageCall,
  result?: ShownResult,
): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const answer = await page.ask({ path: webhookPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const webhook = answer.body as ShownWebhook;
  const deliveries = await page.ask({
    path: "/v1/deliveries",
    query: new URLSearchParams({
      webhook: webhook.id,
      limit: String(DELIVERIES),
    }),
  });
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
              <WebhookSentence webhook={webhook} nowMs={nowMs} />
            </p>
          </Note>
        </Live>
        {isWriter ? <Actions page={page} webhook={webhook} /> : null}
        {result === undefined ? null : <CallResult result={result} />}
        <Definition webhook={webhook} base={base} />
        <Live id="deliveries-part">
          <section aria-labelledby="deliveries">
            <h2 id="deliveries">Newest deliveries</h2>
            <Newest
              page={page}
              webhook={webhook}
              list={deliveries.body as ShownList<ShownDelivery>}
            />
          </section>
        </Live>
      </>
    ),
  };
}

function Actions(
  { page, webhook }: {
    readonly page: PageCall;
    readonly webhook: ShownWebhook;
  },
): VNode {
  const { base, csrf } = page;
  return (
    <section aria-label="Actions">
      <form method="post" action={`${base}/webhooks/${webhook.id}`} class="row">
        <CsrfField csrf={csrf} />
        <button type="submit" name="action" value="test">Send a test</button>
        {webhook.enabled
          ? <button type="submit" name="action" value="disable">Disable</button>
          : (
            <button type="submit" name="action" value="enable" class="primary">
              Enable again
            </button>
          )}
        <button
          type="submit"
          name="action"
          value="rotate"
          data-confirm="Replace the secret? The old one signs beside the new one for 24 hours."
        >
          Replace secret
        </button>
        <button
          type="submit"
          name="action"
          value="remove"
          class="danger"
          data-confirm="Remove this webhook? What it has not been sent yet is not sent."
        >
          Remove
        </button>
      </form>
    </section>
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

function Newest(
  { page: { base, nowMs }, webhook, list: { data } }: {
    readonly page: PageCall;
    readonly webhook: ShownWebhook;
    readonly list: ShownList<ShownDelivery>;
  },
): VNode {
  if (data.length === 0) return <p class="dim">It was sent nothing yet.</p>;
  return (
    <>
      <DeliveryTable base={base} nowMs={nowMs} deliveries={data} />
      <p>
        <a href={`${base}/deliveries?webhook=${webhook.id}`}>
          All deliveries of this webhook
        </a>
      </p>
    </>
  );
}
