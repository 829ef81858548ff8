/**
 * Counts records.
 *
 * @module
 */

import type { RecordKind } from "../store/record.ts";
import type { Store } from "../store/store.ts";

/** What is counted. */
export interface CountOptions {
  /** The kind of records. */
  readonly kind: RecordKind;
  /** The tenant. */
  readonly tenantId: string;
  /** Counting stops here. */
  readonly cap: number;
}

/** Most records that are read at a time. */
const PAGE = 250;

/** How many records a tenant has of a kind, `cap` at most. */
export async function countRecords(
  store: Pick<Store, "records">,
  { kind, tenantId, cap }: CountOptions,
): Promise<number> {
  let count = 0;
  let afterId: string | undefined;
  while (count < cap) {
    const { records, hasMore } = await store.records({
      kind,
      tenantId,
      limit: Math.min(PAGE, cap - count),
      ...(afterId === undefined ? {} : { afterId }),
    });
    count += records.length;
    afterId = records.at(-1)?.id;
    if (!hasMore) break;
  }
  return count;
}
