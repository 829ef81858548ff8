/**
 * Shows transactions and their events in the form of a full node.
 *
 * @module
 */

import type { Entry } from "../relayer/ledger/ledger_log.ts";
import { ACCOUNT_MODULE } from "../shared/ledger/account_contract.ts";
import { encodeBase58 } from "../shared/ledger/digest.ts";
import {
  type MoveCall,
  readSignedTransaction,
  type Transaction,
  type TransactionInput,
} from "../shared/ledger/transaction.ts";
import {
  changeViews,
  effectsBytes,
  effectsView,
  type Shown,
} from "./effects_view.ts";
import { type Json, shownParts } from "./rpc_method.ts";

/** Returns what is to be shown of a transaction of the log. */
export function pickShown(entry: Entry, packageId: string): Shown {
  const { outcome, sender = "", timeMs } = entry;
  const digest = encodeBase58(entry.digest);
  return { packageId, sender, digest, outcome, timeMs };
}

/** Shows a transaction of the log, with the parts that the options ask for. */
export function transactionView(
  entry: Entry,
  { packageId, options }: {
    readonly packageId: string;
    readonly options: Json;
  },
): Json {
  const { payload, sequence, timeMs } = entry;
  const shown = pickShown(entry, packageId);
  const asked = {
    ...options,
    showTransaction: options["showInput"],
    showRawTransaction: options["showRawInput"],
  };
  return {
    digest: shown.digest,
    ...shownParts(asked, {
      transaction: () => inputView(payload),
      rawTransaction: () => payload.toBase64(),
      effects: () => effectsView(shown),
      rawEffects: () => [...effectsBytes(shown)],
      events: () => eventViews(shown),
      objectChanges: () => changeViews(shown),
      balanceChanges: () => [],
    }),
    timestampMs: String(timeMs),
    checkpoint: String(sequence),
  };
}

/** Shows all events of a transaction. */
export function eventViews(shown: Shown): readonly Json[] {
  const { packageId, sender, digest, outcome, timeMs } = shown;
  return outcome.events.map(({ kind, fields, bcs }, position) => ({
    id: { txDigest: digest, eventSeq: String(position) },
    packageId,
    transactionModule: ACCOUNT_MODULE,
    sender,
    type: `${packageId}::${ACCOUNT_MODULE}::${kind}`,
    parsedJson: fields,
    bcsEncoding: "base64",
    bcs,
    timestampMs: String(timeMs),
  }));
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
