/**
 * The page of what is sent messages, which webhooks and alerts are: how it is,
 * buttons, a test call with its answer, its definition, and its newest
 * deliveries.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { type FormButton, PostForm } from "../../../shared/console/form.tsx";
import {
  FactList,
  Live,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import { linkButtons } from "../parts/list.tsx";
import {
  goTo,
  may,
  type Page,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";
import { DeliveryTable, type ShownDelivery } from "./delivery_parts.tsx";

/** Deliveries that the page shows. */
const DELIVERIES = 10;

/** What is sent messages, as the API shows it. */
type ShownReceiver = Texts<"id" | "created_at" | "updated_at"> & {
  /** Whether it is sent messages. */
  readonly enabled: boolean;
};

/** What the page is of. */
interface Receiver<T extends ShownReceiver> {
  /** The word for it: `webhook`. */
  readonly noun: string;
  /** What it is called. */
  readonly nameOf: (receiver: T) => string;
  /** Whether nothing is wrong with it. */
  readonly isWell: (receiver: T) => boolean;
  /** How it is. */
  readonly state: (receiver: T) => ComponentChildren;
  /** What is asked before it is removed. */
  readonly question: string;
  /** Further buttons. @default none */
  readonly more?: readonly FormButton[];
  /** Its definition, between its id and its dates. */
  readonly facts: (receiver: T, base: string) => Facts;
}

type Facts = Parameters<typeof FactList>[0]["facts"];

/** The page, and what its buttons do. */
export type ReceiverPages = Readonly<Record<"show" | "act", Page>>;

/** Makes the page, and what its buttons do. */
export function receiverPage<T extends ShownReceiver>(
  { noun, nameOf, isWell, state, question, more = [], facts }: Receiver<T>,
): ReceiverPages {
  const list = `${noun}s`;
  const show = (page: PageCall, result?: ShownResult): Promise<PageAnswer> =>
    page.show<T>({ path: pathOf(list, page) }, async (receiver) => {
      const { id, enabled } = receiver;
      const name = nameOf(receiver);
      const newest = {
        path: "/v1/deliveries",
        query: new URLSearchParams({ webhook: id, limit: String(DELIVERIES) }),
      };
      return await page.show<ShownList<ShownDelivery>>(newest, ({ data }) => ({
        kind: "page",
        title: `${noun[0]?.toUpperCase()}${noun.slice(1)} ${name}`,
        heading: <span>{name}</span>,
        actions: linkButtons(page, [
          [`/${list}/${id}/edit`, "Edit", "webhooks:write"],
        ]),
        content: (
          <>
            <Live id={noun}>
              <Note tone={isWell(receiver) ? "busy" : "bad"}>
                <p class="lead">{state(receiver)}</p>
              </Note>
            </Live>
            {may(page, "webhooks:write")
              ? (
                <section aria-label="Actions">
                  <PostForm
                    page={page}
                    kind="row"
                    buttons={[
                      { value: "test", text: "Send a test" },
                      enabled ? DISABLE : ENABLE,
                      ...more,
                      { value: "remove", text: "Remove", question },
                    ]}
                  />
                </section>
              )
              : null}
            {result === undefined ? null : <CallResult result={result} />}
            <Section id="definition" title="Definition">
              <FactList
                facts={[
                  ["Id", <code>{id}</code>],
                  ...facts(receiver, page.base),
                  ["Created", <Time at={receiver.created_at} />],
                  ["Changed", <Time at={receiver.updated_at} />],
                ]}
              />
            </Section>
            <Live id="newest">
              <Section id="deliveries" title="Newest deliveries">
                {data.length === 0
                  ? <p class="dim">It was sent nothing yet.</p>
                  : (
                    <>
                      <DeliveryTable page={page} deliveries={data} />
                      <p>
                        <a href={`${page.base}/deliveries?webhook=${id}`}>
                          All its deliveries
                        </a>
                      </p>
                    </>
                  )}
              </Section>
            </Live>
          </>
        ),
      }));
    });
  const act = async (page: PageCall): Promise<PageAnswer> => {
    const path = pathOf(list, page);
    const action = page.form.get("action");
    if (action === "test") {
      return await page.show<ShownResult>(
        { method: "POST", path: `${path}/test` },
        (result) => show(page, result),
      );
    }
    if (action === "remove") {
      const answer = await page.ask({ method: "DELETE", path });
      return refusalOf(answer) ?? goTo(`${page.base}/${list}`, "removed");
    }
    const body = { enabled: action === "enable" };
    const answer = await page.ask({ method: "PATCH", path, body });
    return refusalOf(answer) ?? goTo(page.here, "saved");
  };
  return { show: (page) => show(page), act };
}

const DISABLE: FormButton = { value: "disable", text: "Disable" };
const ENABLE: FormButton = {
  value: "enable",
  text: "Enable again",
  kind: "primary",
};
