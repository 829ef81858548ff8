/**
 * How far a bulk action has come among the tasks it is for.
 *
 * @module
 */

import type { TaskPosition } from "../../store/queries.ts";
import type { BulkOrder } from "./bulk_action.ts";

/** Where the next step begins. */
export type BulkPosition =
  /** Behind so many of the ids. */
  | { readonly kind: "ids"; readonly index: number }
  /** Behind a task, by the time it was made. */
  | { readonly kind: "filter"; readonly after?: TaskPosition };

/** The first position of an order. */
export function firstPosition({ ids }: BulkOrder): BulkPosition {
  return ids === undefined ? { kind: "filter" } : { kind: "ids", index: 0 };
}
