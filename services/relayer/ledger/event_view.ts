/**
 * Events of the embedded ledger, in the form in which a full node shows them
 * and in the form in which the log stores them.
 *
 * @module
 */

import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  ACCOUNT_MODULE,
  type AccountEvent,
} from "../../shared/ledger/account_contract.ts";
import type { AccountRow } from "./account_rows.ts";
import type { EntryOutcome, LoggedEvent } from "./ledger_log.ts";

type Json = Readonly<Record<string, unknown>>;

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
}

/** Shows all events of a transaction. */
export function eventViews(shown: Shown, timeMs: number): readonly Json[] {
  return shown.outcome.events.map((event, position) =>
    eventView(event, { ...shown, position, timeMs })
  );
}

/** Shows one event. */
export function eventView(
  { kind, fields, bcs }: LoggedEvent,
  { packageId, sender, digest, position, timeMs }: Omit<Shown, "outcome"> & {
    readonly position: number;
    readonly timeMs: number;
  },
): Json {
  return {
    id: { txDigest: digest, eventSeq: String(position) },
    packageId,
    transactionModule: ACCOUNT_MODULE,
    sender,
    type: `${packageId}::${ACCOUNT_MODULE}::${kind}`,
    parsedJson: fields,
    bcsEncoding: "base64",
    bcs,
    timestampMs: String(timeMs),
  };
}

/** Converts an event to the form that the log stores. */
export function loggedEvent(
  event: AccountEvent,
  { accountId, owner }: Pick<AccountRow, "accountId" | "owner">,
): LoggedEvent {
  const writer = new BcsWriter().address(accountId);
  if (
    event.kind !== "DelegateKeyAdded" && event.kind !== "DelegateKeyRemoved"
  ) {
    return {
      kind: event.kind,
      fields: { account_id: accountId, owner },
      bcs: writer.address(owner).toBytes().toBase64(),
    };
  }
  const { publicKey, address, label } = event.key;
  const bytes = Uint8Array.fromHex(publicKey);
  writer.byteVector(bytes).address(address);
  const isAdded = event.kind === "DelegateKeyAdded";
  if (isAdded) writer.string(label);
  return {
    kind: event.kind,
    fields: {
      account_id: accountId,
      public_key: [...bytes],
      sui_address: address,
      label: isAdded ? label : undefined,
    },
    bcs: writer.toBytes().toBase64(),
  };
}
