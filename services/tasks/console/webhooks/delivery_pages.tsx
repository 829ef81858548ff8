/**
 * The pages of deliveries: the list with filters that the address keeps, and
 * each with what was sent and came back.
 *
 * @module
 */

import type { VNode } from "preact";
import { formFields, PostForm } from "../../../shared/console/form.tsx";
import {
  Code,
  Empty,
  FactList,
  formatLength,
  Live,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { EVENT_TYPES } from "../../domain/event_types.ts";
import { alertName, askAlerts } from "../alerts/alert_pages.tsx";
import { prettyJson } from "../parts/form.tsx";
import {
  FilterForm,
  linkButtons,
  ListPager,
  listQuestion,
} from "../parts/list.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import {
  DELIVERY_TONES,
  DeliveryBadge,
  DeliveryTable,
  type ShownDelivery,
  type ShownDeliveryDetail,
  Subject,
} from "./delivery_parts.tsx";
import { askWebhooks, webhookName } from "./webhook_parts.tsx";

/** The parameters of the filter. */
const FILTER = ["webhook", "status", "type", "task"];

/** What the receivers of deliveries are called, by id. */
async function receiverNames(
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

/** Shows a page of the list. */
export async function deliveryListPage(page: PageCall): Promise<PageAnswer> {
  const kept = Object.fromEntries(
    FILTER.map((name) => [name, page.query.get(name)?.trim() ?? ""]),
  );
  const [answer, names] = await Promise.all([
    page.ask(listQuestion(page, "/v1/deliveries", kept)),
    receiverNames(page),
  ]);
  const list = answer.body as ShownList<ShownDelivery>;
  return refusalOf(answer) ?? {
    kind: "page",
    title: "Deliveries",
    actions: linkButtons(page, [["/webhooks", "Webhooks"]]),
    content: (
      <>
        <Filters page={page} kept={kept} names={names} />
        {list.data.length === 0 && list.next === null
          ? (
            <Empty>
              <p>No delivery matches. Deliveries are kept for 7 days.</p>
            </Empty>
          )
          : (
            <Live id="deliveries">
              <DeliveryTable page={page} deliveries={list.data} names={names} />
              <ListPager page={page} list={list} kept={kept} />
            </Live>
          )}
      </>
    ),
  };
}

function Filters(
  { page, kept, names }: {
    readonly page: PageCall;
    readonly kept: Readonly<Record<string, string>>;
    readonly names: ReadonlyMap<string, string>;
  },
): VNode {
  const { text, choice } = formFields(new URLSearchParams(kept));
  const isWhole = Object.values(kept).every((one) => one === "");
  return (
    <FilterForm page={page} reset={isWhole ? undefined : "All deliveries"}>
      {choice("status", "Status", {
        choices: [["", "Any status"], ...Object.keys(DELIVERY_TONES)],
      })}
      {choice("webhook", "To", { choices: [["", "Any receiver"], ...names] })}
      {text("type", "Type", { offers: EVENT_TYPES })}
      {text("task", "Task", { placeholder: "tsk_…", isSearch: true })}
    </FilterForm>
  );
}

/** Sends the event of a delivery again. */
export async function redeliver(page: PageCall): Promise<PageAnswer> {
  const path = `${pathOf("deliveries", page)}/redeliver`;
  const answer = await page.ask({ method: "POST", path });
  return refusalOf(answer) ?? goTo(page.here, "redelivered");
}

/** Shows a delivery. */
export async function deliveryPage(page: PageCall): Promise<PageAnswer> {
  const { base } = page;
  const [answer, names] = await Promise.all([
    page.ask({ path: pathOf("deliveries", page) }),
    receiverNames(page),
  ]);
  const delivery = answer.body as ShownDeliveryDetail;
  const { status, webhook } = delivery;
  const canBeSent = status !== "sending" && status !== "pending";
  return refusalOf(answer) ?? {
    kind: "page",
    title: `Delivery of ${delivery.type}`,
    actions: canBeSent && may(page, "webhooks:write")
      ? <PostForm page={page} submit="Send again" />
      : null,
    content: (
      <Live id="delivery">
        <Lead delivery={delivery} />
        <section aria-label="Facts">
          <FactList
            facts={[
              [
                "To",
                <a href={`${base}/${roomOf(webhook)}/${webhook}`}>
                  {names.get(webhook) ?? webhook}
                </a>,
              ],
              ["About", <Subject base={base} id={delivery.task} />],
              ["Made", <Time at={delivery.created_at} />],
              ["Ended", delivery.ended_at && <Time at={delivery.ended_at} />],
            ]}
          />
        </section>
        <div class="grid">
          <Section id="request" title="Request">
            <FactList
              facts={[
                ["webhook-id", <code>{delivery.event}</code>],
                ["webhook-timestamp", "the second of each call"],
                ["webhook-signature", "v1, made for each call; it is not kept"],
              ]}
            />
            <Code
              id="request-body"
              name="Body, indented"
              text={indented(delivery.request)}
            />
          </Section>
          <Section id="answer" title="Last answer">
            {delivery.answer === null || delivery.answer === ""
              ? <p class="dim">It had no body, or none came.</p>
              : (
                <Code
                  id="answer-body"
                  name="Body, its beginning"
                  text={delivery.answer}
                  wraps
                />
              )}
          </Section>
        </div>
        <Calls log={delivery.log} />
      </Live>
    ),
  };
}

function roomOf(receiver: string): string {
  return receiver.startsWith("alr_") ? "alerts" : "webhooks";
}

/** JSON with indentation; another text as it is. */
function indented(text: string): string {
  try {
    return prettyJson(JSON.parse(text));
  } catch {
    return text;
  }
}

function Lead(
  { delivery: { status, attempts, error, next_at: next } }: {
    readonly delivery: ShownDelivery;
  },
): VNode {
  const calls = attempts === 1 ? "1 call" : `${attempts} calls`;
  return (
    <Note tone={status === "failed" ? "bad" : "busy"}>
      <p class="lead">
        <DeliveryBadge status={status} /> {attempts === 0
          ? "It waits for its turn."
          : status === "delivered"
          ? `The receiver took it after ${calls}.`
          : `${calls} so far.`}
        {next === null ? null : (
          <>
            {" "}It is sent again <Time at={next} />.
          </>
        )}
      </p>
      {error === null ? null : <p>{`${error.code}: ${error.message}`}</p>}
    </Note>
  );
}

function Calls({ log }: Pick<ShownDeliveryDetail, "log">): VNode | null {
  if (log.length === 0) return null;
  return (
    <Section id="calls" title="Calls">
      <Table
        label="Calls"
        rows={log}
        columns={[
          { name: "At", at: ({ started_at: at }) => at },
          {
            name: "Outcome",
            cell: ({ outcome }) => outcome.replaceAll("_", " "),
            isShort: true,
          },
          {
            name: "HTTP status",
            isNumber: true,
            cell: ({ http, error }) => http?.status ?? error?.http_status,
          },
          {
            name: "Took",
            isNumber: true,
            cell: ({ duration }) =>
              duration === null ? null : formatLength(duration),
          },
          {
            name: "Error",
            cell: ({ error }) =>
              error === null ? null : `${error.code}: ${error.message}`,
          },
        ]}
      />
    </Section>
  );
}
