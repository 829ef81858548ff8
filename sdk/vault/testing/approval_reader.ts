/**
 * Reads approving transactions, as key servers in tests do.
 *
 * @module
 */

import { MAX_APPROVALS, MAX_ID_BYTES } from "../approval.ts";
import { BcsError, BcsReader } from "../bcs.ts";

/** A call of an approving transaction. */
interface ApprovalCall {
  /** The package. */
  readonly packageId: string;
  /** The module. */
  readonly module: string;
  /** The function. */
  readonly functionName: string;
  /** The identity without the package in front. */
  readonly id: Uint8Array;
  /** Ids of the objects that are the function's arguments, in order. */
  readonly objectIds: readonly string[];
}

/** The outcome of reading an approving transaction. */
type ApprovalOutcome =
  | { readonly kind: "ok"; readonly calls: readonly ApprovalCall[] }
  | { readonly kind: "invalid"; readonly reason: string };

const PURE = 0;
const OBJECT = 1;
const OWNED_OBJECT = 0;
const SHARED_OBJECT = 1;
const MOVE_CALL = 0;
const INPUT = 1;
const MAX_INPUTS = 2 * MAX_APPROVALS + 8;
const MAX_NAME_BYTES = 128;
const MAX_ARGUMENTS = 8;

/**
 * Reads an approving transaction without its first byte, as a key server gets
 * it. The transaction may only have calls whose first argument is an identity
 * and whose other arguments are objects.
 */
export function readApproval(ptb: Uint8Array): ApprovalOutcome {
  try {
    const reader = new BcsReader(ptb);
    const inputs = reader.vector(MAX_INPUTS, readInput);
    const calls = reader.vector(
      MAX_APPROVALS,
      (each) => readCall(each, inputs),
    );
    reader.end();
    return calls.length === 0
      ? { kind: "invalid", reason: "it calls nothing" }
      : { kind: "ok", calls };
  } catch (error) {
    if (!(error instanceof BcsError)) throw error;
    return { kind: "invalid", reason: error.message };
  }
}

type Input = { readonly id: Uint8Array } | { readonly objectId: string };

function readInput(reader: BcsReader): Input {
  if (reader.length({ max: OBJECT }) === PURE) {
    const value = new BcsReader(
      reader.byteVector({ maxBytes: MAX_ID_BYTES + 2 }),
    );
    const id = value.byteVector({ maxBytes: MAX_ID_BYTES });
    value.end();
    return { id };
  }
  const form = reader.length({ max: SHARED_OBJECT });
  const objectId = reader.address();
  reader.u64();
  if (form === OWNED_OBJECT) reader.byteVector({ maxBytes: 32 });
  else reader.bool();
  return { objectId };
}

function readCall(reader: BcsReader, inputs: readonly Input[]): ApprovalCall {
  if (reader.u8() !== MOVE_CALL) {
    throw new BcsError("a command is not a call of a function");
  }
  const packageId = reader.address();
  const module = reader.string({ maxBytes: MAX_NAME_BYTES });
  const functionName = reader.string({ maxBytes: MAX_NAME_BYTES });
  if (reader.length({ max: MAX_ARGUMENTS }) > 0) {
    throw new BcsError("a call has type arguments");
  }
  const [first, ...objects] = reader.vector(MAX_ARGUMENTS, (each) => {
    if (each.u8() !== INPUT) throw new BcsError("an argument is no input");
    const input = inputs[each.u16()];
    if (input === undefined) throw new BcsError("an argument is no input");
    return input;
  });
  if (first === undefined || !("id" in first)) {
    throw new BcsError("the first argument is no identity");
  }
  const objectIds = objects.map((input) => {
    if ("objectId" in input) return input.objectId;
    throw new BcsError("an argument after the first is not an object");
  });
  return { packageId, module, functionName, id: first.id, objectIds };
}
