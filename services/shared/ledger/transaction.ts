/**
 * Transactions as clients of the ledger sign and send them: `TransactionData`
 * and `SenderSignedData` in BCS, as far as calls of a contract need them. What
 * the embedded ledger could not carry out is refused here already: system
 * transactions, commands that publish or move objects, results handed on.
 *
 * @module
 */

import { BcsError, BcsReader, BcsWriter } from "../../../sdk/vault/bcs.ts";
import { blake2b256, DIGEST_BYTES } from "./digest.ts";

/** Most bytes of a transaction. */
export const MAX_TRANSACTION_BYTES = 32_768;
/** Most inputs of a transaction. */
const MAX_INPUTS = 512;
/** Most calls of a transaction. */
const MAX_CALLS = 128;
/** Most arguments of a call. */
const MAX_ARGUMENTS = 16;
/** Most bytes of a name in the contract's language. */
const MAX_NAME_BYTES = 128;
/** Most objects that pay for a transaction. */
const MAX_PAYMENTS = 256;
/** Most validators that may be named as proposers. */
const MAX_PROPOSERS = 1_000;

/** An object in one of its versions. */
export interface ObjectRef {
  /** Its id. */
  readonly objectId: string;
  /** Its version. */
  readonly version: bigint;
  /** 32 bytes that belong to the version. */
  readonly digest: Uint8Array;
}

/** What a transaction brings for its calls. */
export type TransactionInput =
  /** A value in BCS. */
  | { readonly kind: "pure"; readonly bytes: Uint8Array }
  /**
   * An object that has one owner or is never changed, or one to be received.
   */
  | { readonly kind: "owned"; readonly ref: ObjectRef }
  /** An object that everybody may use. */
  | {
    readonly kind: "shared";
    /** Its id. */
    readonly objectId: string;
    /** The version it was shared with. */
    readonly initialVersion: bigint;
    /** Whether the transaction may change it. */
    readonly isMutable: boolean;
  };

/** A call of a function of a contract. */
export interface MoveCall {
  /** The contract's package. */
  readonly packageId: string;
  /** The module. */
  readonly module: string;
  /** The function. */
  readonly functionName: string;
  /** What it is called with. */
  readonly inputs: readonly TransactionInput[];
}

/** The gas payment of a transaction. */
interface GasData {
  /** The coins. */
  readonly payment: readonly ObjectRef[];
  /** Whose they are. */
  readonly owner: string;
  /** What a unit costs. */
  readonly price: bigint;
  /** The most that it may cost. */
  readonly budget: bigint;
}

/** When a transaction can be executed. */
export interface Validity {
  /** From this epoch on. */
  readonly minEpoch?: bigint | undefined;
  /** Up to this epoch. */
  readonly maxEpoch?: bigint | undefined;
  /** From this time on, in milliseconds since the epoch. */
  readonly minTimestampMs?: bigint | undefined;
  /** Up to this time, in milliseconds since the epoch. */
  readonly maxTimestampMs?: bigint | undefined;
  /** On this ledger only; 32 bytes. */
  readonly chain?: Uint8Array | undefined;
}

/** A transaction. */
export interface Transaction {
  /** Its calls, in order; all happen or none. */
  readonly calls: readonly MoveCall[];
  /** Who sends it. */
  readonly sender: string;
  /** What pays for it. */
  readonly gas: GasData;
  /** When it can be executed. */
  readonly validity: Validity;
}

/** The outcome of decoding bytes. */
type ReadOutcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  /** The bytes are not canonical, or ask for what the ledger can't execute. */
  | { readonly kind: "invalid"; readonly reason: string };

/** A transaction with its signature. */
interface SignedTransaction {
  /** The transaction. */
  readonly transaction: Transaction;
  /** Its bytes, which are what is signed. */
  readonly data: Uint8Array;
  /** Flag, signature and public key. */
  readonly signature: Uint8Array;
}

/** Reads `TransactionData`. */
export function readTransaction(bytes: Uint8Array): ReadOutcome<Transaction> {
  return readAll(bytes, readTransactionData);
}

/**
 * Reads a `TransactionKind`, which holds the calls but not the sender; a dry
 * run is requested with it.
 */
export function readTransactionKind(
  bytes: Uint8Array,
): ReadOutcome<readonly MoveCall[]> {
  return readAll(bytes, readCalls);
}

/** Reads `SenderSignedData` with one transaction and one signature. */
export function readSignedTransaction(
  bytes: Uint8Array,
): ReadOutcome<SignedTransaction> {
  return readAll(bytes, (reader) => {
    if (reader.length({ max: 1 }) !== 1) refuse("it holds no transaction");
    for (const expected of TRANSACTION_INTENT) {
      if (reader.u8() !== expected) refuse("its intent is another one");
    }
    const from = reader.position;
    const transaction = readTransactionData(reader);
    const data = bytes.slice(from, reader.position);
    if (reader.length({ max: 2 }) !== 1) refuse("it has not one signature");
    const signature = reader.byteVector({ maxBytes: MAX_SIGNATURE_BYTES })
      .slice();
    return { transaction, data, signature };
  });
}

/** `SenderSignedData` of a transaction's bytes and its signature. */
export function writeSignedTransaction(
  { data, signature }: Pick<SignedTransaction, "data" | "signature">,
): Uint8Array<ArrayBuffer> {
  const writer = new BcsWriter().length(1);
  for (const byte of TRANSACTION_INTENT) writer.u8(byte);
  return writer.bytes(data).length(1).byteVector(signature).toBytes();
}

/** The digest of a transaction's bytes, 32 bytes. */
export function hashTransaction(data: Uint8Array): Uint8Array {
  return blake2b256(DIGEST_PREFIX, data);
}

const TRANSACTION_INTENT: readonly number[] = [0, 0, 0];
const DIGEST_PREFIX: Uint8Array = new TextEncoder().encode("TransactionData::");
/** Longer than any single signature. */
const MAX_SIGNATURE_BYTES = 4_096;

/** Thrown for bytes that ask for what the ledger can't execute. */
class RefusedError extends Error {}

function refuse(state: string): never {
  throw new RefusedError(state);
}

function readAll<T>(
  bytes: Uint8Array,
  read: (reader: BcsReader) => T,
): ReadOutcome<T> {
  if (bytes.length > MAX_TRANSACTION_BYTES + MAX_SIGNATURE_BYTES) {
    return invalid(`${MAX_TRANSACTION_BYTES} bytes are the most`);
  }
  const reader = new BcsReader(bytes);
  try {
    const value = read(reader);
    reader.end();
    return { kind: "ok", value };
  } catch (error) {
    if (error instanceof RefusedError) return invalid(error.message);
    if (error instanceof BcsError) {
      return { kind: "invalid", reason: error.message };
    }
    throw error;
  }
}

function invalid(
  state: string,
): Extract<ReadOutcome<never>, { kind: "invalid" }> {
  return { kind: "invalid", reason: `Cannot read transaction: ${state}` };
}

function readTransactionData(reader: BcsReader): Transaction {
  const from = reader.position;
  if (reader.length({ max: 0x7f }) !== 0) refuse("its version is not 1");
  const calls = readCalls(reader);
  const sender = reader.address();
  const gas = {
    payment: reader.vector(MAX_PAYMENTS, readObjectRef),
    owner: reader.address(),
    price: reader.u64(),
    budget: reader.u64(),
  };
  const validity = readValidity(reader);
  if (reader.position - from > MAX_TRANSACTION_BYTES) {
    refuse(`${MAX_TRANSACTION_BYTES} bytes are the most`);
  }
  return { calls, sender, gas, validity };
}

/** `TransactionKind`; of its variants only the first is a user's. */
function readCalls(reader: BcsReader): readonly MoveCall[] {
  if (reader.length({ max: 0x7f }) !== 0) refuse("it is the system's own");
  const inputs = reader.vector(MAX_INPUTS, readInput);
  return reader.vector(MAX_CALLS, () => readCall(reader, inputs));
}

function readInput(reader: BcsReader): TransactionInput {
  switch (reader.length({ max: 0x7f })) {
    case 0:
      return { kind: "pure", bytes: reader.byteVector().slice() };
    case 1:
      return readObjectInput(reader);
    default:
      return refuse("an input is neither a value nor an object");
  }
}

function readObjectInput(reader: BcsReader): TransactionInput {
  switch (reader.length({ max: 0x7f })) {
    case 0:
    case 2:
      return { kind: "owned", ref: readObjectRef(reader) };
    case 1:
      return {
        kind: "shared",
        objectId: reader.address(),
        initialVersion: reader.u64(),
        isMutable: reader.bool(),
      };
    default:
      return refuse("an object is neither owned nor shared");
  }
}

function readObjectRef(reader: BcsReader): ObjectRef {
  const objectId = reader.address();
  const version = reader.u64();
  const digest = reader.byteVector({ maxBytes: DIGEST_BYTES }).slice();
  if (digest.length !== DIGEST_BYTES) refuse("a digest has not 32 bytes");
  return { objectId, version, digest };
}

/** `Command`; of its variants only a call. */
function readCall(
  reader: BcsReader,
  inputs: readonly TransactionInput[],
): MoveCall {
  if (reader.length({ max: 0x7f }) !== 0) {
    refuse("a command is not a call of a function");
  }
  const packageId = reader.address();
  const module = reader.string({ maxBytes: MAX_NAME_BYTES });
  const functionName = reader.string({ maxBytes: MAX_NAME_BYTES });
  if (reader.length({ max: 0x7f }) !== 0) refuse("a call has type arguments");
  const called = reader.vector(MAX_ARGUMENTS, () => {
    if (reader.length({ max: 0x7f }) !== 1) {
      refuse("an argument is no input of the transaction");
    }
    return inputs[reader.u16()] ?? refuse("an argument's input is missing");
  });
  return { packageId, module, functionName, inputs: called };
}

/** `TransactionExpiration`. */
function readValidity(reader: BcsReader): Validity {
  const variant = reader.length({ max: 0x7f });
  switch (variant) {
    case 0:
      return {};
    case 1:
      return { maxEpoch: reader.u64() };
    case 2:
    case 3: {
      const u64 = () => reader.u64();
      const validity = {
        minEpoch: reader.option(u64),
        maxEpoch: reader.option(u64),
        minTimestampMs: reader.option(u64),
        maxTimestampMs: reader.option(u64),
        chain: reader.byteVector({ maxBytes: DIGEST_BYTES }).slice(),
      };
      reader.u32();
      // Which validators may propose it says nothing on a ledger without any.
      if (variant === 3) reader.option(skipProposers);
      return validity;
    }
    default:
      return refuse("its expiration is of an unknown form");
  }
}

function skipProposers(reader: BcsReader): void {
  reader.u64();
  reader.vector(MAX_PROPOSERS, () => reader.u32());
}
