/**
 * Actions on many tasks: a preview of how many they would change, the action,
 * and the progress of one that takes long.
 *
 * @module
 */

import type { VNode } from "preact";
import { PostForm } from "../../../shared/console/form.tsx";
import {
  FactList,
  formatCount,
  lines,
  Live,
  Note,
  Time,
} from "../../../shared/console/parts.tsx";
import type { ApiQuestion } from "../../http/ask_api.ts";
import {
  goTo,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type Texts,
  withQuery,
} from "../parts/page.ts";
import { toBulkFilter } from "./task_filter.ts";
import { BULK_ACTIONS, listPath } from "./task_list_page.tsx";
import { TaskLink } from "./task_parts.tsx";

/** Most tasks that a preview looks at. */
const PREVIEWED = 1_000;

type BulkResult =
  & Readonly<Record<"matched" | "changed" | "unchanged" | "failed", number>>
  & { readonly errors: readonly Texts<"id" | "detail">[] };

type Operation =
  & BulkResult
  & Texts<"id" | "action" | "created_at", "finished_at">
  & { readonly status: "running" | "done" | "failed" };

/** What an action is applied to, as forms and addresses keep it. */
interface Order {
  readonly action: string;
  /** The tasks by their ids; none where the filter selects them. */
  readonly ids: readonly string[];
  readonly filter: URLSearchParams;
}

function readOrder(fields: URLSearchParams): Order {
  return {
    action: fields.get("action") ?? "",
    ids: fields.get("on") === "filter" ? [] : fields.getAll("ids"),
    filter: new URLSearchParams(fields.get("filter") ?? ""),
  };
}

function questionOf(
  { action, ids, filter }: Order,
  more: Readonly<Record<string, unknown>> = {},
): ApiQuestion {
  const on = ids.length > 0 ? { ids } : { filter: toBulkFilter(filter) };
  const body = { action, ...on, ...more };
  return { method: "POST", path: "/v1/tasks/actions", body };
}

/** Shows how many tasks an action would change. */
export async function bulkPreviewPage(page: PageCall): Promise<PageAnswer> {
  const { base, query } = page;
  const order = readOrder(query);
  const { action, ids, filter } = order;
  const back = listPath(base, filter);
  if (ids.length === 0 && query.get("on") !== "filter") {
    return {
      kind: "page",
      title: "No task is ticked",
      content: (
        <p>
          Tick tasks in the list first. <a href={back}>Go back</a>
        </p>
      ),
    };
  }
  const limit = ids.length > 0 ? {} : { limit: PREVIEWED };
  const answer = await page.ask(questionOf(order, { dry_run: true, ...limit }));
  const result = answer.body as BulkResult;
  const isMore = ids.length === 0 && result.matched >= PREVIEWED;
  const text = BULK_ACTIONS.find(([name]) => name === action)?.[1] ?? action;
  return refusalOf(answer) ?? {
    kind: "page",
    title: `${text}: preview`,
    content: (
      <>
        <Note tone={result.changed === 0 ? "warn" : "busy"}>
          <p class="lead">
            {isMore
              ? `Of the oldest ${formatCount(PREVIEWED)} tasks that ` +
                `match, ${result.changed} would be changed; all that match ` +
                "are looked at."
              : `${result.changed} of ${result.matched} tasks would be changed.`}
          </p>
        </Note>
        <Results result={result} base={base} isPreview />
        <PostForm page={page} to={`${base}/tasks/bulk`} kind="row">
          <input type="hidden" name="action" value={action} />
          <input type="hidden" name="filter" value={filter.toString()} />
          <input type="hidden" name="on" value={query.get("on") ?? ""} />
          {ids.map((id) => <input type="hidden" name="ids" value={id} />)}
          <button
            type="submit"
            class="primary"
            disabled={result.changed === 0 && !isMore}
          >
            {text}
          </button>
          <a class="button" href={back}>Back to the list</a>
        </PostForm>
      </>
    ),
  };
}

/** Applies an action to many tasks. */
export async function applyBulk(page: PageCall): Promise<PageAnswer> {
  const order = readOrder(page.form);
  const answer = await page.ask(questionOf(order));
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  if (answer.status === 202) {
    const { id } = answer.body as Operation;
    return goTo(`${page.base}/operations/${id}`);
  }
  const { changed, unchanged, failed } = answer.body as BulkResult;
  const list = listPath(page.base, order.filter);
  const told = withQuery("", { done: "bulk", changed, unchanged, failed });
  return goTo(list.includes("?") ? `${list}&${told.slice(1)}` : list + told);
}

/** Shows the progress of an action on many tasks. */
export async function operationPage(page: PageCall): Promise<PageAnswer> {
  const question = { path: pathOf("operations", page) };
  return await page.show<Operation>(question, (operation) => {
    const { status, matched, action, finished_at: end } = operation;
    const isRunning = status === "running";
    return {
      kind: "page",
      title: `Bulk ${action}`,
      refreshSeconds: isRunning ? 2 : undefined,
      content: (
        <Live id="operation">
          <Note tone={status === "failed" ? "bad" : "good"}>
            <p class="lead" role="status">
              {isRunning
                ? `It goes on; ${formatCount(matched)} tasks were looked at ` +
                  "so far."
                : status === "done"
                ? "It is done."
                : "It has failed: the service could not continue it."}
            </p>
            {isRunning ? <progress aria-label="Progress" /> : null}
          </Note>
          <Results result={operation} base={page.base} />
          <FactList
            facts={[
              ["Requested", <Time at={operation.created_at} />],
              ["Ended", end && <Time at={end} />],
            ]}
          />
        </Live>
      ),
    };
  });
}

function Results(
  { result, base, isPreview = false }: {
    readonly result: BulkResult;
    readonly base: string;
    /** Whether nothing was done yet. @default {false} */
    readonly isPreview?: boolean;
  },
): VNode {
  const { matched, changed, unchanged, failed, errors } = result;
  return (
    <section>
      <FactList
        facts={[
          ["Looked at", matched],
          [isPreview ? "To be changed" : "Changed", changed],
          ["Need no change", unchanged],
          ["Cannot be changed", failed],
          [
            "First reasons",
            lines(errors, ({ id, detail }) => (
              <>
                <TaskLink base={base} id={id} /> {detail}
              </>
            )),
          ],
        ]}
      />
    </section>
  );
}
