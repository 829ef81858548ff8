/**
 * The mark of a store into which rows are being copied. A service does not start
 * on such a store: it has a part of the rows, and the rest would conflict with
 * what the service writes.
 *
 * @module
 */

import type { Store, StoredRecord } from "../store/store.ts";

const KIND = "service";
const ID = "transfer";

/** Whether a record is the mark, which is never copied. */
export function isTransferMark(
  { kind, tenantId, id }: Pick<StoredRecord, "kind" | "tenantId" | "id">,
): boolean {
  return kind === KIND && tenantId === "" && id === ID;
}

/** What is copied to a store, as its mark says; undefined without a mark. */
export async function findTransfer(
  store: Pick<Store, "record">,
): Promise<string | undefined> {
  const mark = await store.record(KIND, "", ID);
  return mark && JSON.parse(mark.text).from;
}

/**
 * Marks a store before the first row is copied to it.
 *
 * @param from what is copied, such as the name of a file, for people
 */
export async function beginTransfer(
  store: Pick<Store, "commit">,
  from: string,
): Promise<void> {
  await write(store, {
    expectedVersion: 0,
    next: {
      kind: KIND,
      tenantId: "",
      id: ID,
      version: 1,
      text: JSON.stringify({ from }),
    },
  });
}

/** Removes the mark, when all rows are there. */
export async function endTransfer(store: Pick<Store, "commit">): Promise<void> {
  await write(store, { expectedVersion: 1, next: undefined });
}

/**
 * Demands that a store is whole, before a service uses it.
 *
 * @throws {Error} when rows are still being copied to it
 */
export async function demandWhole(store: Pick<Store, "record">): Promise<void> {
  const from = await findTransfer(store);
  if (from === undefined) return;
  throw new Error(
    `Cannot start: a copy of ${from} to this store has not ended; run the same ` +
      "command again, with --resume if it was tasks import",
  );
}

async function write(
  store: Pick<Store, "commit">,
  of: {
    readonly expectedVersion: number;
    readonly next: StoredRecord | undefined;
  },
): Promise<void> {
  const [result] = await store.commit([{
    writes: [{ kind: "record", recordKind: KIND, tenantId: "", id: ID, ...of }],
  }]);
  if (result?.kind === "ok") return;
  throw new Error("Cannot mark the store: another command copies rows to it");
}
