/**
 * What is answered to a bulk action.
 *
 * @module
 */

import { type Answer, json } from "../../http/answer.ts";
import { viewBulk, viewOperation } from "./operation_view.ts";
import type { BulkOrder, BulkProgress } from "./bulk_action.ts";
import type { Operation } from "./operation.ts";

/** The answer to one that was done before it was answered. */
export function doneAnswer(order: BulkOrder, progress: BulkProgress): Answer {
  return json(viewBulk(order, progress));
}

/** The answer to one that goes on by itself; `baseUrl` is where the API is. */
export function operationAnswer(
  operation: Operation,
  baseUrl: string,
): Answer {
  return json(viewOperation(operation), {
    status: 202,
    headers: { location: `${baseUrl}/v1/operations/${operation.id}` },
  });
}
