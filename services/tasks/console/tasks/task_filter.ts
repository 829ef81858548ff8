/**
 * The filter of the list of tasks: what the address of the page says, and what
 * that is for the API's list and for its bulk actions.
 *
 * @module
 */

import { taskNumber } from "../../store/task_id.ts";
import { pairsOf } from "../parts/form.tsx";

/** The parameters that the page hands to the API as they are. */
const PLAIN = [
  ...["status", "worker", "job", "group", "key", "tag", "error"],
  ...["start", "end", "by", "tz", "waiting"],
] as const;

/** The parameters of the filter, by which the page is found again. */
export const FILTER_NAMES: readonly string[] = [...PLAIN, "metadata"];

/** The filter's parameters of an address, without the empty ones. */
export function filterOf(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams(
    FILTER_NAMES.flatMap((name) => {
      const value = query.get(name)?.trim() ?? "";
      return value === "" ? [] : [[name, value]];
    }),
  );
}

/** The labels of `plan=pro, region=eu`; text without `=` has an empty value. */
function labelsOf(filter: URLSearchParams): Readonly<Record<string, string>> {
  return pairsOf(filter.get("metadata") ?? "", { between: "," });
}

/** The filter as the query of the API's list. */
export function toListQuery(filter: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams(filter);
  query.delete("metadata");
  for (const [name, value] of Object.entries(labelsOf(filter))) {
    query.append(`metadata.${name}`, value);
  }
  return query;
}

const LISTS: readonly string[] = ["status", "worker", "tag"];

/** The filter as the body of a bulk action. */
export function toBulkFilter(
  filter: URLSearchParams,
): Readonly<Record<string, unknown>> {
  const body: Record<string, unknown> = {};
  for (const [name, value] of filter) {
    if (name === "metadata") body[name] = labelsOf(filter);
    else if (LISTS.includes(name)) {
      body[name] = value.split(",").map((one) => one.trim());
    } else body[name] = value;
  }
  return body;
}

/** Whether a text is the id of a task. */
export function isTaskId(text: string): boolean {
  return taskNumber(text) !== undefined;
}
