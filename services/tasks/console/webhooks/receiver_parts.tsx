/**
 * What the pages of webhooks and of alerts have in common: buttons, a test call
 * with its answer, and the newest deliveries.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { Live } from "../../../shared/console/parts.tsx";
import type { ApiAnswer } from "../../http/ask_api.ts";
import type { ShownResult } from "../parts/call_result.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import { DeliveryTable, type ShownDelivery } from "./webhook_parts.tsx";

/** Deliveries that a page shows. */
const DELIVERIES = 10;

/** Buttons for what is sent messages. */
export function ReceiverActions(
  { page, isEnabled, question, children }: {
    readonly page: PageCall;
    /** Whether it is sent messages. */
    readonly isEnabled: boolean;
    /** What is asked before it is removed. */
    readonly question: string;
    /** Further buttons. @default none */
    readonly children?: ComponentChildren;
  },
): VNode {
  return (
    <section aria-label="Actions">
      <form method="post" action={page.path.split("?", 1)[0]} class="row">
        <CsrfField csrf={page.csrf} />
        <button type="submit" name="action" value="test">Send a test</button>
        {isEnabled
          ? <button type="submit" name="action" value="disable">Disable</button>
          : (
            <button type="submit" name="action" value="enable" class="primary">
              Enable again
            </button>
          )}
        {children}
        <button
          type="submit"
          name="action"
          value="remove"
          class="danger"
          data-confirm={question}
        >
          Remove
        </button>
      </form>
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
  const [here = ""] = page.path.split("?", 1);
  const action = page.form.get("action");
  if (action === "test") {
    const answer = await page.ask({ method: "POST", path: `${path}/test` });
    return refusalOf(answer) ?? await show(page, answer.body as ShownResult);
  }
  if (action === "remove") {
    const answer = await page.ask({ method: "DELETE", path });
    const list = here.slice(0, here.lastIndexOf("/"));
    return refusalOf(answer) ??
      { kind: "redirect", to: `${list}?done=removed` };
  }
  const answer = await page.ask({
    method: "PATCH",
    path,
    body: { enabled: action === "enable" },
  });
  return refusalOf(answer) ?? { kind: "redirect", to: `${here}?done=saved` };
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
  { page: { base, nowMs }, id, answer }: {
    readonly page: PageCall;
    readonly id: string;
    /** What {@linkcode askNewest} gave. */
    readonly answer: ApiAnswer;
  },
): VNode {
  const { data } = answer.body as ShownList<ShownDelivery>;
  return (
    <Live id="newest">
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">Newest deliveries</h2>
        {data.length === 0 ? <p class="dim">It was sent nothing yet.</p> : (
          <>
            <DeliveryTable base={base} nowMs={nowMs} deliveries={data} />
            <p>
              <a href={`${base}/deliveries?webhook=${id}`}>
                All its deliveries
              </a>
            </p>
          </>
        )}
      </section>
    </Live>
  );
}
