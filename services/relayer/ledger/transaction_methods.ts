/**
 * JSON-RPC methods that execute transactions, try them, and read them and their
 * events.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import { decodeDigest, encodeBase58 } from "../../shared/ledger/digest.ts";
import {
  MAX_TRANSACTION_BYTES,
  readTransaction,
  readTransactionKind,
  transactionDigestOf,
} from "../../shared/ledger/transaction.ts";
import type { Entry, EntryFilter, EventPlace } from "./ledger_log.ts";
import type { LocalLedger } from "./local_ledger.ts";
import {
  badParams,
  base64Of,
  failed,
  idOf,
  limitOf,
  noId,
  optionsOf,
  type RpcContext,
  type RpcMethod,
  type RpcOutcome,
  type RpcParams,
  tooMany,
} from "./rpc_call.ts";
import { eventView, eventViews } from "./event_view.ts";
import type { TrialOutcome } from "./transaction_executor.ts";
import {
  changeViews,
  effectsView,
  errorText,
  transactionDataView,
  transactionView,
} from "./transaction_view.ts";

/** The methods, by name. */
export const TRANSACTION_METHODS: readonly (readonly [string, RpcMethod])[] = [
  ["sui_executeTransactionBlock", executeTransaction],
  ["sui_dryRunTransactionBlock", dryRunTransaction],
  ["sui_devInspectTransactionBlock", devInspectTransaction],
  ["sui_getTransactionBlock", getTransaction],
  ["sui_multiGetTransactionBlocks", multiGetTransactions],
  ["suix_queryTransactionBlocks", queryTransactions],
  ["suix_queryEvents", queryEvents],
  ["sui_getEvents", getEvents],
];

/**
 * Most bytes of a signature: a valid one has a flag, 64 bytes of signature and
 * 32 of key; longer ones up to this size are refused with a reason.
 */
const MAX_SIGNATURE_BYTES = 1_024;

async function executeTransaction(
  [bytes, signatures, options]: RpcParams,
  { ledger, executor, budget, from }: RpcContext,
): Promise<RpcOutcome> {
  const data = base64Of(bytes, { maxBytes: MAX_TRANSACTION_BYTES });
  if (data === undefined) return noBytes();
  if (!Array.isArray(signatures) || signatures.length !== 1) {
    return badParams("a transaction has one signature, that of its sender");
  }
  const signature = base64Of(signatures[0], { maxBytes: MAX_SIGNATURE_BYTES });
  if (signature === undefined) return badParams("a signature is Base64");
  if (--budget.runs < 0) return tooMany();
  const outcome = await executor.execute({ data, signature, from });
  return outcome.kind === "refused"
    ? failed(-32002, outcome.reason)
    : { result: viewOf(outcome.entry, { ledger, options }) };
}

function noBytes(): RpcOutcome {
  return badParams(
    `a transaction is Base64 of at most ${MAX_TRANSACTION_BYTES} bytes`,
  );
}

function viewOf(
  entry: Entry,
  { ledger, options }: {
    readonly ledger: LocalLedger;
    readonly options: unknown;
  },
): unknown {
  const { packageId } = ledger;
  return transactionView(entry, { packageId, shown: optionsOf(options) });
}

function dryRunTransaction(
  [bytes]: RpcParams,
  { ledger, executor, budget }: RpcContext,
): RpcOutcome {
  const data = base64Of(bytes, { maxBytes: MAX_TRANSACTION_BYTES });
  if (data === undefined) return noBytes();
  if (--budget.runs < 0) return tooMany();
  const read = readTransaction(data);
  if (read.kind === "invalid") return failed(-32002, read.reason);
  return trialView(executor.dryRun(data), {
    ledger,
    also: () => ({
      input: transactionDataView(read.value),
      balanceChanges: [],
      suggestedGasPrice: null,
    }),
  });
}

function devInspectTransaction(
  [sender, bytes]: RpcParams,
  { ledger, executor, budget }: RpcContext,
): RpcOutcome {
  const address = idOf(sender);
  if (address === undefined) return noId();
  const kind = base64Of(bytes, { maxBytes: MAX_TRANSACTION_BYTES });
  if (kind === undefined) return noBytes();
  if (--budget.runs < 0) return tooMany();
  const read = readTransactionKind(kind);
  if (read.kind === "invalid") return failed(-32002, read.reason);
  const calls = read.value;
  const digest = transactionDigestOf(kind);
  const outcome = executor.inspect(calls, { sender: address, digest });
  return trialView(outcome, {
    ledger,
    // The contract's functions return nothing.
    also: (error) => ({
      results: error === null ? calls.map(() => ({})) : null,
    }),
  });
}

function trialView(
  trial: TrialOutcome,
  { ledger, also }: {
    readonly ledger: LocalLedger;
    readonly also: (error: string | null) => Readonly<Record<string, unknown>>;
  },
): RpcOutcome {
  if (trial.kind === "refused") return failed(-32002, trial.reason);
  const { sender, outcome } = trial;
  const digest = encodeBase58(trial.digest);
  const { packageId } = ledger;
  const shown = { packageId, sender, digest, outcome };
  const error = errorText(shown);
  return {
    result: {
      effects: effectsView(shown),
      events: eventViews(shown, ledger.log.nextTimeMs()),
      objectChanges: changeViews(shown),
      error,
      executionErrorSource: error,
      ...also(error),
    },
  };
}

function getTransaction(
  [digest, options]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  if (--budget.reads < 0) return tooMany();
  const found = entryOf(digest, ledger);
  return found.kind === "missing"
    ? found.outcome
    : { result: viewOf(found.entry, { ledger, options }) };
}

function multiGetTransactions(
  [digests, options]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  if (!Array.isArray(digests)) return badParams("digests are a list");
  budget.reads -= digests.length;
  if (budget.reads < 0) return tooMany();
  const result: unknown[] = [];
  for (const digest of digests) {
    const found = entryOf(digest, ledger);
    if (found.kind === "missing") return found.outcome;
    result.push(viewOf(found.entry, { ledger, options }));
  }
  return { result };
}

function entryOf(
  text: unknown,
  { log }: LocalLedger,
):
  | { readonly kind: "ok"; readonly entry: Entry }
  | { readonly kind: "missing"; readonly outcome: RpcOutcome } {
  const digest = typeof text === "string" ? decodeDigest(text) : undefined;
  if (digest === undefined) {
    const outcome = badParams("a digest is 32 bytes in base58");
    return { kind: "missing", outcome };
  }
  const entry = log.byDigest(digest);
  // Commands of the operator are not transactions.
  if (entry !== undefined && entry.sender !== undefined) {
    return { kind: "ok", entry };
  }
  const outcome = failed(
    -32602,
    // Clients keep waiting for a transaction as long as they get this text.
    "Could not find the referenced transaction " +
      `[TransactionDigest(${encodeBase58(digest)})].`,
  );
  return { kind: "missing", outcome };
}

function queryTransactions(
  [query, cursor, limit, isDescending]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  const { filter: asked, options } = optionsOf(query);
  const filter = filterOf(asked);
  if (filter === undefined) {
    return badParams("transactions are found by FromAddress or ChangedObject");
  }
  const size = limitOf(limit);
  if (size === undefined) return badParams("a limit is a number above 0");
  budget.reads -= size;
  if (budget.reads < 0) return tooMany();
  let after: number | undefined;
  if (cursor !== undefined && cursor !== null) {
    const found = entryOf(cursor, ledger);
    if (found.kind === "missing") return found.outcome;
    after = found.entry.sequence;
  }
  const entries = ledger.log.transactions(filter, {
    after,
    limit: size + 1,
    isDescending: isDescending === true,
  });
  const page = entries.slice(0, size);
  const last = page.at(-1);
  return {
    result: {
      data: page.map((entry) => viewOf(entry, { ledger, options })),
      nextCursor: last === undefined
        ? cursor ?? null
        : encodeBase58(last.digest),
      hasNextPage: entries.length > size,
    },
  };
}

function filterOf(filter: unknown): EntryFilter | undefined {
  if (filter === undefined || filter === null) return { kind: "all" };
  const { FromAddress, ChangedObject, InputObject } = optionsOf(filter);
  const address = idOf(FromAddress);
  if (address !== undefined) return { kind: "sender", address };
  const objectId = idOf(ChangedObject ?? InputObject);
  return objectId === undefined ? undefined : { kind: "object", objectId };
}

function getEvents(
  [digest]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  if (--budget.reads < 0) return tooMany();
  const found = entryOf(digest, ledger);
  if (found.kind === "missing") return found.outcome;
  const { entry } = found;
  const { packageId } = ledger;
  const { sender = "", outcome, timeMs } = entry;
  const shown = { packageId, sender, digest: String(digest), outcome };
  return { result: eventViews(shown, timeMs) };
}

function queryEvents(
  [query, cursor, limit, isDescending]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  const asked = eventFilterOf(query, ledger.packageId);
  if (asked === undefined) {
    return badParams(
      "events are found by All, MoveModule, MoveEventModule or MoveEventType",
    );
  }
  const size = limitOf(limit);
  if (size === undefined) return badParams("a limit is a number above 0");
  budget.reads -= size;
  if (budget.reads < 0) return tooMany();
  let after: EventPlace | undefined;
  if (cursor !== undefined && cursor !== null) {
    const place = placeOf(cursor, ledger);
    if ("outcome" in place) return place.outcome;
    after = place;
  }
  const places = asked === "none" ? [] : ledger.log.events(asked.kind, {
    after,
    limit: size + 1,
    isDescending: isDescending === true,
  });
  const page = places.slice(0, size).flatMap((at) => eventAt(at, ledger));
  const last = page.at(-1);
  return {
    result: {
      data: page,
      nextCursor: last === undefined ? cursor ?? null : last["id"],
      hasNextPage: places.length > size,
    },
  };
}

/**
 * Returns the kind of events that a query asks for; "none" where no event can
 * match.
 */
function eventFilterOf(
  query: unknown,
  packageId: string,
): { readonly kind: string | undefined } | "none" | undefined {
  if (!isJsonObject(query)) return undefined;
  const { All, MoveModule, MoveEventModule, MoveEventType } = query;
  if (Array.isArray(All)) return { kind: undefined };
  const inModule = MoveModule ?? MoveEventModule;
  if (isJsonObject(inModule)) {
    return idOf(inModule["package"]) === packageId &&
        inModule["module"] === "account"
      ? { kind: undefined }
      : "none";
  }
  if (typeof MoveEventType !== "string") return undefined;
  const [id = "", module, kind, ...others] = MoveEventType.split("::");
  return idOf(id) === packageId && module === "account" &&
      kind !== undefined && others.length === 0
    ? { kind }
    : "none";
}

function placeOf(
  cursor: unknown,
  ledger: LocalLedger,
): EventPlace | { readonly outcome: RpcOutcome } {
  const { txDigest, eventSeq } = optionsOf(cursor);
  const found = entryOf(txDigest, ledger);
  if (found.kind === "missing") return found;
  const position = Number(eventSeq);
  return Number.isSafeInteger(position) && position >= 0
    ? { sequence: found.entry.sequence, position }
    : { outcome: badParams("an event's number is one from 0 on") };
}

function eventAt(
  { sequence, position }: EventPlace,
  { log, packageId }: LocalLedger,
): readonly Readonly<Record<string, unknown>>[] {
  const entry = log.at(sequence);
  const event = entry?.outcome.events[position];
  if (entry === undefined || event === undefined) return [];
  const { sender = "", timeMs } = entry;
  const digest = encodeBase58(entry.digest);
  return [
    eventView(event, { packageId, sender, digest, position, timeMs }),
  ];
}
