/**
 * Shows transactions in the form of a full node: effects, events and changed
 * objects, as JSON and, where clients ask for it, in BCS.
 *
 * @module
 */

import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import { ACCOUNT_MODULE } from "../../shared/ledger/account_contract.ts";
import { eventViews, type Shown } from "./event_view.ts";
import {
  decodeDigest,
  encodeBase58,
  sha256,
} from "../../shared/ledger/digest.ts";
import {
  type MoveCall,
  readSignedTransaction,
  type Transaction,
  type TransactionInput,
} from "../../shared/ledger/transaction.ts";
import type { Entry, LoggedEvent, ObjectChange } from "./ledger_log.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The parts of a transaction that a client asks for; all others are left out.
 */
interface TransactionOptions {
  /** The signed transaction, as JSON. */
  readonly showInput?: unknown;
  /** The signed transaction, in BCS. */
  readonly showRawInput?: unknown;
  /** The outcome, as JSON. */
  readonly showEffects?: unknown;
  /** The outcome, in BCS. */
  readonly showRawEffects?: unknown;
  /** The events that it emitted. */
  readonly showEvents?: unknown;
  /** The objects that it changed. */
  readonly showObjectChanges?: unknown;
  /** The balances that it changed: none. */
  readonly showBalanceChanges?: unknown;
}

const NO_COST = {
  computationCost: "0",
  storageCost: "0",
  storageRebate: "0",
  nonRefundableStorageFee: "0",
};
/** The version in which every shared object became shared. */
const INITIAL_VERSION = 1;

/** Shows a transaction of the log. */
export function transactionView(
  entry: Entry,
  { packageId, shown }: {
    readonly packageId: string;
    readonly shown: TransactionOptions;
  },
): Json {
  const { outcome, sender = "", payload, sequence, timeMs } = entry;
  const digest = encodeBase58(entry.digest);
  const parts = { packageId, sender, digest, outcome };
  const only = <T>(asked: unknown, value: () => T): T | undefined =>
    asked === true ? value() : undefined;
  return {
    digest,
    transaction: only(shown.showInput, () => inputView(payload)),
    rawTransaction: only(shown.showRawInput, () => payload.toBase64()),
    effects: only(shown.showEffects, () => effectsView(parts)),
    rawEffects: only(shown.showRawEffects, () => [...effectsBytes(parts)]),
    events: only(shown.showEvents, () => eventViews(parts, timeMs)),
    objectChanges: only(shown.showObjectChanges, () => changeViews(parts)),
    balanceChanges: only(shown.showBalanceChanges, () => []),
    timestampMs: String(timeMs),
    checkpoint: String(sequence),
  };
}

function inputView(payload: Uint8Array): Json | undefined {
  const read = readSignedTransaction(payload);
  if (read.kind === "invalid") return undefined;
  const { transaction, signature } = read.value;
  return {
    data: transactionDataView(transaction),
    txSignatures: [signature.toBase64()],
  };
}

/** Shows the content of a transaction, as JSON. */
export function transactionDataView(transaction: Transaction): Json {
  const { calls, sender, gas } = transaction;
  const inputs = [...new Set(calls.flatMap((call) => call.inputs))];
  return {
    messageVersion: "v1",
    transaction: {
      kind: "ProgrammableTransaction",
      inputs: inputs.map(argumentView),
      transactions: calls.map((call) => callView(call, inputs)),
    },
    sender,
    gasData: {
      payment: gas.payment.map(({ objectId, version, digest }) => ({
        objectId,
        version: String(version),
        digest: encodeBase58(digest),
      })),
      owner: gas.owner,
      price: String(gas.price),
      budget: String(gas.budget),
    },
  };
}

function argumentView(input: TransactionInput): Json {
  switch (input.kind) {
    case "pure":
      return { type: "pure", valueType: null, value: [...input.bytes] };
    case "owned":
      return {
        type: "object",
        objectType: "immOrOwnedObject",
        objectId: input.ref.objectId,
        version: String(input.ref.version),
        digest: encodeBase58(input.ref.digest),
      };
    case "shared":
      return {
        type: "object",
        objectType: "sharedObject",
        objectId: input.objectId,
        initialSharedVersion: String(input.initialVersion),
        mutable: input.isMutable,
      };
  }
}

function callView(
  { packageId, module, functionName, inputs }: MoveCall,
  all: readonly TransactionInput[],
): Json {
  return {
    MoveCall: {
      package: packageId,
      module,
      function: functionName,
      arguments: inputs.map((input) => ({ Input: all.indexOf(input) })),
    },
  };
}

/** Shows the outcome of a transaction or of a trial run. */
export function effectsView(shown: Shown): Json {
  const { digest, outcome } = shown;
  const { changes, events } = outcome;
  const gas = changes.at(-1);
  const refs = (isNew: boolean) =>
    changes.filter(({ previousVersion }) =>
      (previousVersion === undefined) === isNew
    ).map(refView);
  return {
    messageVersion: "v1",
    status: statusView(shown),
    abortError: abortView(shown),
    executedEpoch: "0",
    gasUsed: NO_COST,
    modifiedAtVersions: changes.flatMap(({ objectId, previousVersion }) =>
      previousVersion === undefined
        ? []
        : [{ objectId, sequenceNumber: previousVersion }]
    ),
    sharedObjects: [],
    transactionDigest: digest,
    created: refs(true),
    mutated: refs(false),
    gasObject: gas && refView(gas),
    eventsDigest: events.length === 0
      ? null
      : encodeBase58(eventsDigest(events)),
    dependencies: [],
  };
}

function refView(change: ObjectChange): Json {
  const { objectId, version, digest } = change;
  return {
    owner: ownerView(change.owner),
    // Clients convert the version to BCS, whether it is a number or a text.
    reference: { objectId, version, digest },
  };
}

/** Shows the owner of an object, as JSON. */
export function ownerView(owner: ObjectChange["owner"]): unknown {
  switch (owner.kind) {
    case "shared":
      return { Shared: { initial_shared_version: INITIAL_VERSION } };
    case "address":
      return { AddressOwner: owner.id };
    case "object":
      return { ObjectOwner: owner.id };
  }
}

function statusView({ packageId, outcome: { abort } }: Shown): Json {
  if (abort === undefined) return { status: "success" };
  const { code, at, functionName } = abort;
  return {
    status: "failure",
    error: "MoveAbort(MoveLocation { module: ModuleId { address: " +
      `${packageId.slice(2)}, name: Identifier("${ACCOUNT_MODULE}") }, ` +
      `function: 0, instruction: 0, function_name: Some("${functionName}") }, ` +
      `${code}) in command ${at}`,
  };
}

function abortView({ packageId, outcome: { abort } }: Shown): Json | undefined {
  return abort && {
    module_id: `${packageId}::${ACCOUNT_MODULE}`,
    function: abort.functionName,
    error_code: String(abort.code),
    line: null,
  };
}

/** Returns why a trial run failed; null when it succeeded. */
export function errorText(shown: Shown): string | null {
  const text = statusView(shown)["error"];
  return typeof text === "string" ? text : null;
}

/** Shows the objects that a transaction changed, or would change. */
export function changeViews({ sender, outcome }: Shown): readonly Json[] {
  return outcome.changes.map((change) => {
    const { objectId, type, version, digest, previousVersion } = change;
    const view = {
      sender,
      owner: ownerView(change.owner),
      objectType: type,
      ...{ objectId, version, digest },
    };
    return previousVersion === undefined
      ? { type: "created", ...view }
      : { type: "mutated", ...view, previousVersion };
  });
}

function eventsDigest(events: readonly LoggedEvent[]): Uint8Array {
  return sha256(`events ${JSON.stringify(events)}`);
}

/** The index of `MoveAbort` among the failures that BCS encodes. */
const MOVE_ABORT = 12;
const OWNERS = { address: 0, object: 1, shared: 2 } as const;

/**
 * Returns the outcome as `TransactionEffects` of version 1, in which each
 * object has a version of its own.
 */
function effectsBytes(shown: Shown): Uint8Array {
  const { outcome: { changes, events } } = shown;
  const writer = new BcsWriter().length(0);
  writeStatus(writer, shown);
  writer.u64(0n).u64(0n).u64(0n).u64(0n).u64(0n);
  const old = changes.filter((change) => change.previousVersion !== undefined);
  writer.vector(
    old,
    (_, { objectId, previousVersion = "0" }) =>
      writer.address(objectId).u64(BigInt(previousVersion)),
  );
  writer.length(0);
  writeDigest(writer, shown.digest);
  const made = changes.filter((change) => change.previousVersion === undefined);
  writer.vector(made, writeChange).vector(old, writeChange);
  // Four empty lists: no object is unwrapped, deleted or wrapped.
  for (let list = 0; list < 4; list++) writer.length(0);
  const gas = changes.at(-1);
  if (gas !== undefined) writeChange(writer, gas);
  writer.bool(events.length > 0);
  if (events.length > 0) writer.byteVector(eventsDigest(events));
  return writer.length(0).toBytes();
}

function writeStatus(
  writer: BcsWriter,
  { packageId, outcome: { abort } }: Shown,
): void {
  if (abort === undefined) return void writer.length(0);
  writer.length(1).length(MOVE_ABORT).address(packageId).string(ACCOUNT_MODULE)
    .u16(0).u16(0).bool(true).string(abort.functionName)
    .u64(BigInt(abort.code)).bool(true).u64(BigInt(abort.at));
}

function writeChange(writer: BcsWriter, change: ObjectChange): void {
  const { objectId, version, digest, owner } = change;
  writer.address(objectId).u64(BigInt(version));
  writeDigest(writer, digest);
  writer.length(OWNERS[owner.kind]);
  if (owner.kind === "shared") writer.u64(BigInt(INITIAL_VERSION));
  else writer.address(owner.id);
}

function writeDigest(writer: BcsWriter, digest: string): void {
  writer.byteVector(decodeDigest(digest) ?? new Uint8Array(32));
}
