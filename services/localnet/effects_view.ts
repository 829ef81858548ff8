/**
 * Shows what transactions have changed in the form of a full node: effects and
 * changed objects, as JSON and in BCS.
 *
 * @module
 */

import { BcsWriter } from "../../sdk/vault/bcs.ts";
import type {
  EntryOutcome,
  LoggedEvent,
  ObjectChange,
} from "../relayer/ledger/ledger_log.ts";
import { INITIAL_VERSION } from "../relayer/ledger/owner_transaction.ts";
import { ACCOUNT_MODULE } from "../shared/ledger/account_contract.ts";
import { decodeDigest, encodeBase58, sha256 } from "../shared/ledger/digest.ts";
import type { Json } from "./rpc_method.ts";

/** A transaction to show, from the log or from a trial run. */
export interface Shown {
  /** The package of the contract. */
  readonly packageId: string;
  /** The sender's address. */
  readonly sender: string;
  /** The transaction's digest, in base58. */
  readonly digest: string;
  /** The outcome of the transaction. */
  readonly outcome: EntryOutcome;
  /** When it was executed or tried, in milliseconds since the epoch. */
  readonly timeMs: number;
}

/** The costs of a transaction: none. */
export const NO_COST: Json = {
  computationCost: "0",
  storageCost: "0",
  storageRebate: "0",
  nonRefundableStorageFee: "0",
};

/** Shows the outcome of a transaction or of a trial run. */
export function effectsView(shown: Shown): Json {
  const { digest, outcome: { changes, events } } = shown;
  const { made, old, gas } = changesByKind(changes);
  return {
    messageVersion: "v1",
    status: statusView(shown),
    abortError: abortView(shown),
    executedEpoch: "0",
    gasUsed: NO_COST,
    modifiedAtVersions: old.map(({ objectId, previousVersion }) => ({
      objectId,
      sequenceNumber: previousVersion,
    })),
    sharedObjects: [],
    transactionDigest: digest,
    created: made.map(refView),
    mutated: old.map(refView),
    gasObject: gas && refView(gas),
    eventsDigest: events.length === 0
      ? null
      : encodeBase58(eventsDigest(events)),
    dependencies: [],
  };
}

/** Created objects, changed ones, and the coin that has paid. */
function changesByKind(changes: readonly ObjectChange[]) {
  return {
    made: changes.filter((change) => change.previousVersion === undefined),
    old: changes.filter((change) => change.previousVersion !== undefined),
    gas: changes.at(-1),
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
      return { Shared: { initial_shared_version: Number(INITIAL_VERSION) } };
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
export function effectsBytes(shown: Shown): Uint8Array {
  const { outcome: { changes, events } } = shown;
  const { made, old, gas } = changesByKind(changes);
  const writer = new BcsWriter().length(0);
  writeStatus(writer, shown);
  writer.u64(0n).u64(0n).u64(0n).u64(0n).u64(0n);
  writer.vector(
    old,
    (_, { objectId, previousVersion = "0" }) =>
      writer.address(objectId).u64(BigInt(previousVersion)),
  );
  writer.length(0);
  writeDigest(writer, shown.digest);
  writer.vector(made, writeChange).vector(old, writeChange);
  // Four empty lists: no object is unwrapped, deleted or wrapped.
  for (let list = 0; list < 4; list++) writer.length(0);
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
  if (owner.kind === "shared") writer.u64(INITIAL_VERSION);
  else writer.address(owner.id);
}

function writeDigest(writer: BcsWriter, digest: string): void {
  writer.byteVector(decodeDigest(digest) ?? new Uint8Array(32));
}
