/**
 * The list of webhooks.
 *
 * @module
 */

import {
  Empty,
  formatCount,
  Live,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { alertName, askAlerts } from "../alerts/alert_pages.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import {
  type ShownWebhook,
  WebhookBadge,
  webhookName,
} from "./webhook_parts.tsx";

/** More webhooks than a tenant has. */
const ALL = new URLSearchParams({ limit: "100" });

/** Shows all webhooks. */
export async function webhookListPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const answer = await page.ask({ path: "/v1/webhooks", query: ALL });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data } = answer.body as ShownList<ShownWebhook>;
  const path = `${base}/webhooks`;
  return {
    kind: "page",
    title: "Webhooks",
    actions: (
      <>
        <a class="button" href={`${base}/deliveries`}>Deliveries</a>
        {may(page, "webhooks:write")
          ? <a class="button primary" href={`${path}/new`}>New webhook</a>
          : null}
      </>
    ),
    content: data.length === 0
      ? (
        <Empty>
          <p>
            There are no webhooks yet. A webhook is told what happens, by signed
            calls to its address.
          </p>
        </Empty>
      )
      : (
        <Live id="webhooks">
          <Table
            label="Webhooks"
            rows={data}
            columns={[
              {
                name: "Webhook",
                cell: (webhook) => (
                  <a href={`${path}/${webhook.id}`}>{webhookName(webhook)}</a>
                ),
              },
              {
                name: "Status",
                cell: (webhook) => <WebhookBadge webhook={webhook} />,
              },
              {
                name: "Since",
                cell: ({ disabled_at: off, failing_since: failing }) => (
                  <Time at={off ?? failing} nowMs={nowMs} />
                ),
              },
              { name: "Types", cell: ({ types }) => types.join(", ") },
              {
                name: "Under way",
                isNumber: true,
                cell: ({ open_deliveries: open }) => formatCount(open),
              },
            ]}
          />
        </Live>
      ),
  };
}

/** All webhooks that the reader sees. */
export async function askWebhooks(
  page: PageCall,
): Promise<readonly ShownWebhook[]> {
  if (!may(page, "webhooks:read")) return [];
  const { status, body } = await page.ask({
    path: "/v1/webhooks",
    query: ALL,
  });
  return status === 200 ? (body as ShownList<ShownWebhook>).data : [];
}

/** What the receivers of deliveries are called, by id. */
export async function receiverNames(
  page: PageCall,
): Promise<ReadonlyMap<string, string>> {
  const [webhooks, alerts] = await Promise.all([
    askWebhooks(page),
    askAlerts(page),
  ]);
  return new Map([
    ...webhooks.map((webhook) => [webhook.id, webhookName(webhook)] as const),
    ...alerts.map((alert) => [alert.id, alertName(alert)] as const),
  ]);
}
