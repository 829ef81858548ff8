/**
 * What the pages of webhooks and of alerts have in common: buttons, a test call
 * with its answer, and the newest deliveries.
 *
 * @module
 */

import type { VNode } from "preact";
import { type FormButton, PostForm } from "../../../shared/console/form.tsx";
import { Live, Section } from "../../../shared/console/parts.tsx";
import type { ApiAnswer } from "../../http/ask_api.ts";
import type { ShownResult } from "../parts/call_result.tsx";
import {
  goTo,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import { DeliveryTable, type ShownDelivery } from "./delivery_parts.tsx";

/** Deliveries that a page shows. */
const DELIVERIES = 10;

/** Buttons for what is sent messages. */
export function ReceiverActions(
  { page, isEnabled, question, more = [] }: {
    readonly page: PageCall;
    /** Whether it is sent messages. */
    readonly isEnabled: boolean;
    /** What is asked before it is removed. */
    readonly question: string;
    /** Further buttons. @default none */
    readonly more?: readonly FormButton[];
  },
): VNode {
  return (
    <section aria-label="Actions">
      <PostForm
        page={page}
        kind="row"
        buttons={[
          { value: "test", text: "Send a test" },
          isEnabled
            ? { value: "disable", text: "Disable" }
            : { value: "enable", text: "Enable again", kind: "primary" },
          ...more,
          { value: "remove", text: "Remove", question },
        ]}
      />
    </section>
  );
}

/** Does what a button says, and shows what came of a test call. */
export async function actOnReceiver(
  page: PageCall,
  { path, show }: {
    /** The path of the API of what the page is of. */
    readonly path: string;
    /** Shows the page with what came of a test call. */
    readonly show: (page: PageCall, result: ShownResult) => Promise<PageAnswer>;
  },
): Promise<PageAnswer> {
  const { here, form } = page;
  const action = form.get("action");
  if (action === "test") {
    return await page.show<ShownResult>(
      { method: "POST", path: `${path}/test` },
      (result) => show(page, result),
    );
  }
  if (action === "remove") {
    const answer = await page.ask({ method: "DELETE", path });
    const list = here.slice(0, here.lastIndexOf("/"));
    return refusalOf(answer) ?? goTo(list, "removed");
  }
  const body = { enabled: action === "enable" };
  const answer = await page.ask({ method: "PATCH", path, body });
  return refusalOf(answer) ?? goTo(here, "saved");
}

/** Asks for the newest deliveries of a webhook or an alert. */
export async function askNewest(
  page: PageCall,
  id: string,
): Promise<ApiAnswer> {
  return await page.ask({
    path: "/v1/deliveries",
    query: new URLSearchParams({ webhook: id, limit: String(DELIVERIES) }),
  });
}

/** Shows the newest deliveries of a webhook or an alert. */
export function NewestDeliveries(
  { page, id, answer }: {
    readonly page: PageCall;
    readonly id: string;
    /** What {@linkcode askNewest} gave. */
    readonly answer: ApiAnswer;
  },
): VNode {
  const { data } = answer.body as ShownList<ShownDelivery>;
  return (
    <Live id="newest">
      <Section id="deliveries" title="Newest deliveries">
        {data.length === 0 ? <p class="dim">It was sent nothing yet.</p> : (
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
  );
}
