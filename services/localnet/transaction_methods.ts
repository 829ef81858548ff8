/**
 * JSON-RPC methods that execute transactions, try them, and read them and their
 * events.
 *
 * @module
 */

import type {
  Entry,
  EntryFilter,
  EventPlace,
} from "../relayer/ledger/ledger_log.ts";
import type { LocalLedger } from "../relayer/ledger/local_ledger.ts";
import { ACCOUNT_MODULE } from "../shared/ledger/account_contract.ts";
import { decodeDigest, encodeBase58 } from "../shared/ledger/digest.ts";
import {
  hashTransaction,
  MAX_TRANSACTION_BYTES,
  readTransaction,
  readTransactionKind,
  type Transaction,
} from "../shared/ledger/transaction.ts";
import { isJsonObject } from "../shared/schema/schema.ts";
import { changeViews, effectsView, errorText } from "./effects_view.ts";
import {
  ANY,
  badParams,
  base64,
  ID,
  type Json,
  LIMIT,
  list,
  method,
  OPTIONS,
  readId,
  type RpcContext,
  RpcError,
  type RpcMethod,
} from "./rpc_method.ts";
import { refuse, tryCalls } from "./trial.ts";
import {
  eventViews,
  pickShown,
  transactionDataView,
  transactionView,
} from "./transaction_view.ts";

const TRANSACTION = base64({
  maxBytes: MAX_TRANSACTION_BYTES,
  state: `a transaction is Base64 of at most ${MAX_TRANSACTION_BYTES} bytes`,
});

/**
 * A valid signature has a flag, 64 bytes of signature and 32 of key; longer
 * ones up to this size are refused with a reason.
 */
const SIGNATURE = base64({ maxBytes: 1_024, state: "a signature is Base64" });

/** The methods, by name. */
export const TRANSACTION_METHODS: Readonly<Record<string, RpcMethod>> = {
  sui_executeTransactionBlock: method({
    params: [TRANSACTION, onlySignature, OPTIONS],
    runs: 1,
    async answer([data, signature, options], { ledger, executor, from }) {
      const outcome = await executor.execute({ data, signature, from });
      if (outcome.kind === "refused") refuse(outcome.reason);
      return toView(outcome.entry, { ledger, options });
    },
  }),
  sui_dryRunTransactionBlock: method({
    params: [TRANSACTION],
    runs: 1,
    answer([data], { ledger, executor }) {
      const read = readTransaction(data);
      if (read.kind === "invalid") refuse(read.reason);
      const late = executor.validityFault(read.value.validity);
      if (late !== undefined) refuse(late);
      const digest = hashTransaction(data);
      return {
        ...trialView(read.value, { ledger, digest }),
        input: transactionDataView(read.value),
        balanceChanges: [],
        suggestedGasPrice: null,
      };
    },
  }),
  sui_devInspectTransactionBlock: method({
    params: [ID, TRANSACTION],
    runs: 1,
    answer([sender, kind], { ledger }) {
      const read = readTransactionKind(kind);
      if (read.kind === "invalid") refuse(read.reason);
      const calls = read.value;
      const digest = hashTransaction(kind);
      const view = trialView({ calls, sender }, { ledger, digest });
      // The contract's functions return nothing.
      const results = view["error"] === null ? calls.map(() => ({})) : null;
      return { ...view, results };
    },
  }),
  sui_getTransactionBlock: method({
    params: [ANY, OPTIONS],
    reads: 1,
    answer: ([digest, options], { ledger }) =>
      toView(findEntry(digest, ledger), { ledger, options }),
  }),
  sui_multiGetTransactionBlocks: method({
    params: [list("digests are a list"), OPTIONS],
    reads: ([digests]) => digests.length,
    answer: ([digests, options], { ledger }) =>
      digests.map((digest) =>
        toView(findEntry(digest, ledger), { ledger, options })
      ),
  }),
  suix_queryTransactionBlocks: method({
    params: [transactionQuery, ANY, LIMIT, isTrue],
    reads: ([, , size]) => size,
    answer([{ filter, options }, cursor, size, isDescending], { ledger }) {
      const after = isGiven(cursor)
        ? findEntry(cursor, ledger).sequence
        : undefined;
      const entries = ledger.log.transactions(filter, {
        ...{ after, limit: size + 1, isDescending },
      });
      const page = entries.slice(0, size);
      const last = page.at(-1);
      return {
        data: page.map((entry) => toView(entry, { ledger, options })),
        nextCursor: last ? encodeBase58(last.digest) : cursor ?? null,
        hasNextPage: entries.length > size,
      };
    },
  }),
  suix_queryEvents: method({
    params: [eventQuery, ANY, LIMIT, isTrue],
    reads: ([, , size]) => size,
    answer([asked, cursor, size, isDescending], { ledger }) {
      const after = isGiven(cursor) ? findPlace(cursor, ledger) : undefined;
      const places = asked === "none" ? [] : ledger.log.events(asked.kind, {
        ...{ after, limit: size + 1, isDescending },
      });
      const page = places.slice(0, size).flatMap((at) => eventAt(at, ledger));
      return {
        data: page,
        nextCursor: page.at(-1)?.["id"] ?? cursor ?? null,
        hasNextPage: places.length > size,
      };
    },
  }),
  sui_getEvents: method({
    params: [ANY],
    reads: 1,
    answer: ([digest], { ledger }) =>
      eventViews(pickShown(findEntry(digest, ledger), ledger.packageId)),
  }),
};

function onlySignature(signatures: unknown): Uint8Array {
  return Array.isArray(signatures) && signatures.length === 1
    ? SIGNATURE(signatures[0])
    : badParams("a transaction has one signature, that of its sender");
}

function isTrue(value: unknown): boolean {
  return value === true;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function toView(
  entry: Entry,
  { ledger: { packageId }, options }: {
    readonly ledger: LocalLedger;
    readonly options: Json;
  },
): Json {
  return transactionView(entry, { packageId, options });
}

function trialView(
  transaction: Pick<Transaction, "calls" | "sender">,
  context: { readonly ledger: LocalLedger; readonly digest: Uint8Array },
): Json {
  const outcome = tryCalls(transaction, context);
  const { ledger: { packageId, log }, digest } = context;
  const shown = {
    ...{ packageId, outcome, sender: transaction.sender },
    digest: encodeBase58(digest),
    timeMs: log.nextTimeMs(),
  };
  const error = errorText(shown);
  return {
    effects: effectsView(shown),
    events: eventViews(shown),
    objectChanges: changeViews(shown),
    error,
    executionErrorSource: error,
  };
}

/** Finds the transaction of a digest; commands of the operator are none. */
function findEntry(text: unknown, { log }: LocalLedger): Entry {
  const digest = typeof text === "string" ? decodeDigest(text) : undefined;
  if (digest === undefined) badParams("a digest is 32 bytes in base58");
  const entry = log.byDigest(digest);
  if (entry?.sender !== undefined) return entry;
  throw new RpcError(
    -32602,
    // Clients keep waiting for a transaction as long as they get this text.
    "Could not find the referenced transaction " +
      `[TransactionDigest(${encodeBase58(digest)})].`,
  );
}

function transactionQuery(
  query: unknown,
): { readonly filter: EntryFilter; readonly options: Json } {
  const { filter, options: shown } = OPTIONS(query);
  const options = OPTIONS(shown);
  if (!isGiven(filter)) return { filter: { kind: "all" }, options };
  const { FromAddress, ChangedObject, InputObject } = OPTIONS(filter);
  const address = readId(FromAddress);
  if (address !== undefined) {
    return { filter: { kind: "sender", address }, options };
  }
  const objectId = readId(ChangedObject ?? InputObject) ??
    badParams("transactions are found by FromAddress or ChangedObject");
  return { filter: { kind: "object", objectId }, options };
}

/** Reads which events a query asks for; "none" where no event can match. */
function eventQuery(
  query: unknown,
  { ledger: { packageId } }: RpcContext,
): { readonly kind: string | undefined } | "none" {
  const isOurs = (id: unknown, module: unknown): boolean =>
    readId(id) === packageId && module === ACCOUNT_MODULE;
  const { All, MoveModule, MoveEventModule, MoveEventType } = OPTIONS(query);
  if (Array.isArray(All)) return { kind: undefined };
  const inModule = MoveModule ?? MoveEventModule;
  if (isJsonObject(inModule)) {
    return isOurs(inModule["package"], inModule["module"])
      ? { kind: undefined }
      : "none";
  }
  if (typeof MoveEventType !== "string") {
    return badParams(
      "events are found by All, MoveModule, MoveEventModule or MoveEventType",
    );
  }
  const [id, module, kind, ...others] = MoveEventType.split("::");
  return isOurs(id, module) && kind !== undefined && others.length === 0
    ? { kind }
    : "none";
}

function findPlace(cursor: unknown, ledger: LocalLedger): EventPlace {
  const { txDigest, eventSeq } = OPTIONS(cursor);
  const { sequence } = findEntry(txDigest, ledger);
  const position = Number(eventSeq);
  return Number.isSafeInteger(position) && position >= 0
    ? { sequence, position }
    : badParams("an event's number is one from 0 on");
}

function eventAt(
  { sequence, position }: EventPlace,
  { log, packageId }: LocalLedger,
): readonly Json[] {
  const entry = log.at(sequence);
  if (entry === undefined) return [];
  return eventViews(pickShown(entry, packageId)).slice(position, position + 1);
}
