/**
 * The pages of deliveries: the list with filters that the address keeps, and
 * each with what was sent and came back.
 *
 * @module
 */

import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import {
  Code,
  Empty,
  FactList,
  formatLength,
  Live,
  Note,
  Time,
} from "../../../shared/console/parts.tsx";
import { Pager, Table } from "../../../shared/console/table.tsx";
import { EVENT_TYPES } from "../../domain/event_types.ts";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import { prettyJson } from "../tasks/task_parts.tsx";
import { receiverNames } from "./webhook_list_page.tsx";
import {
  DELIVERY_TONES,
  DeliveryBadge,
  DeliveryTable,
  type ShownDelivery,
  type ShownDeliveryDetail,
  Subject,
} from "./webhook_parts.tsx";

/** Deliveries of a page. */
const LIMIT = 50;

/** The parameters of the filter. */
const FILTER = ["webhook", "status", "type", "task"] as const;

/** Shows a page of the list. */
export async function deliveryListPage(page: PageCall): Promise<PageAnswer> {
  const { base, query, nowMs } = page;
  const filter = Object.fromEntries(
    FILTER.map((name) => [name, query.get(name)?.trim() ?? ""]),
  );
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({ ...filter, cursor, limit: String(LIMIT) })
    .filter(([, value]) => value !== "");
  const [answer, names] = await Promise.all([
    page.ask({ path: "/v1/deliveries", query: new URLSearchParams(asked) }),
    receiverNames(page),
  ]);
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data, next } = answer.body as ShownList<ShownDelivery>;
  const path = `${base}/deliveries`;
  return {
    kind: "page",
    title: "Deliveries",
    actions: <a class="button" href={`${base}/webhooks`}>Webhooks</a>,
    content: (
      <>
        <Filters path={path} filter={filter} names={names} />
        {data.length === 0 && next === null
          ? (
            <Empty>
              <p>No delivery matches. Deliveries are kept for 7 days.</p>
            </Empty>
          )
          : (
            <Live id="deliveries">
              <DeliveryTable
                base={base}
                nowMs={nowMs}
                deliveries={data}
                names={names}
              />
              <Pager
                first={cursor === "" ? undefined : withQuery(path, filter)}
                next={next === null
                  ? undefined
                  : withQuery(path, { ...filter, cursor: next })}
              />
            </Live>
          )}
      </>
    ),
  };
}

function Filters(
  { path, filter, names }: {
    readonly path: string;
    readonly filter: Readonly<Record<string, string>>;
    readonly names: ReadonlyMap<string, string>;
  },
): VNode {
  const value = (name: typeof FILTER[number]) => ({
    name,
    value: filter[name],
  });
  return (
    <search class="section">
      <form method="get" action={path} class="filters">
        <ChoiceField
          {...value("status")}
          label="Status"
          choices={[
            ["", "Any status"],
            ...Object.keys(DELIVERY_TONES).map((one) => [one, one] as const),
          ]}
        />
        <ChoiceField
          {...value("webhook")}
          label="To"
          choices={[["", "Any receiver"], ...names]}
        />
        <TextField {...value("type")} label="Type" offers={EVENT_TYPES} />
        <TextField
          {...value("task")}
          label="Task"
          placeholder="tsk_…"
          isSearch
        />
        <div class="row">
          <button type="submit" class="primary">Show</button>
          {Object.values(filter).every((one) => one === "")
            ? null
            : <a class="button" href={path}>All deliveries</a>}
        </div>
      </form>
    </search>
  );
}

function deliveryPath({ params: { id = "" } }: PageCall): string {
  return `/v1/deliveries/${encodeURIComponent(id)}`;
}

/** Sends the event of a delivery again. */
export async function redeliver(page: PageCall): Promise<PageAnswer> {
  const path = `${deliveryPath(page)}/redeliver`;
  const answer = await page.ask({ method: "POST", path });
  const [here = ""] = page.path.split("?", 1);
  return refusalOf(answer) ??
    { kind: "redirect", to: `${here}?done=redelivered` };
}

/** Shows a delivery. */
export async function deliveryPage(page: PageCall): Promise<PageAnswer> {
  const { base, path, csrf } = page;
  const [answer, names] = await Promise.all([
    page.ask({ path: deliveryPath(page) }),
    receiverNames(page),
  ]);
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const delivery = answer.body as ShownDeliveryDetail;
  const { status } = delivery;
  const canBeSent = status !== "sending" && status !== "pending";
  return {
    kind: "page",
    title: `Delivery of ${delivery.type}`,
    actions: canBeSent && may(page, "webhooks:write")
      ? (
        <form method="post" action={path.split("?", 1)[0]}>
          <CsrfField csrf={csrf} />
          <button type="submit" class="primary">Send again</button>
        </form>
      )
      : null,
    content: (
      <Live id="delivery">
        <Lead delivery={delivery} />
        <section aria-label="Facts">
          <FactList
            facts={[
              [
                "To",
                (
                  <a href={`${base}/${roomOf(delivery)}/${delivery.webhook}`}>
                    {names.get(delivery.webhook) ?? delivery.webhook}
                  </a>
                ),
              ],
              ["About", <Subject base={base} id={delivery.task} />],
              ["Made", <Time at={delivery.created_at} />],
              ["Ended", delivery.ended_at && <Time at={delivery.ended_at} />],
            ]}
          />
        </section>
        <div class="grid">
          <section aria-labelledby="request">
            <h2 id="request">Request</h2>
            <FactList
              facts={[
                ["webhook-id", <code>{delivery.event}</code>],
                ["webhook-timestamp", "the second of each call"],
                [
                  "webhook-signature",
                  "v1, made for each call; it is not kept",
                ],
              ]}
            />
            <Code
              id="request-body"
              name="Body, indented"
              text={indented(delivery.request)}
            />
          </section>
          <section aria-labelledby="answer">
            <h2 id="answer">Last answer</h2>
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
          </section>
        </div>
        <Calls log={delivery.log} />
      </Live>
    ),
  };
}

function roomOf({ webhook }: ShownDelivery): string {
  return webhook.startsWith("alr_") ? "alerts" : "webhooks";
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
    <section aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <Table
        label="Calls"
        rows={log}
        columns={[
          {
            name: "At",
            cell: ({ started_at: at }) => <Time at={at} />,
          },
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
    </section>
  );
}
