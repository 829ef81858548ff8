/**
 * The approving transaction: what a key server is shown to get keys. It calls
 * `seal_approve` of the account's module once for each identity and is never executed;
 * the key server finds out whether it would succeed. The bytes are those of a
 * programmable transaction in the ledger's canonical form.
 *
 * @module
 */

import { BcsWriter } from "./bcs.ts";

/** A shared object as a transaction names it. */
export interface SharedObject {
  /** Its id. */
  readonly objectId: string;
  /** The version in which it became shared. */
  readonly initialVersion: bigint;
}

/** What {@linkcode writeApproval} needs. */
interface ApprovalOptions {
  /** The package whose keys are asked for. */
  readonly packageId: string;
  /** The account. */
  readonly account: SharedObject;
  /**
   * The registry of accounts.
   *
   * @default it is not given to the function
   */
  readonly registry?: SharedObject | undefined;
  /** The identities without the package in front. */
  readonly ids: readonly Uint8Array[];
}

/** Most identities of a transaction. */
export const MAX_APPROVALS = 100;
/** Most bytes of an identity. */
export const MAX_ID_BYTES = 512;

const MODULE = "account";
const FUNCTION = "seal_approve";
const PROGRAMMABLE_TRANSACTION = 0;
const PURE = 0;
const OBJECT = 1;
const SHARED_OBJECT = 1;
const MOVE_CALL = 0;
const INPUT = 1;

/**
 * Writes an approving transaction; a key server is sent it without its first byte.
 *
 * @throws {RangeError} When there is no identity or more than 100, or one is too long.
 */
export function writeApproval(
  options: ApprovalOptions,
): Uint8Array<ArrayBuffer> {
  const { packageId, account, registry, ids } = options;
  if (ids.length === 0 || ids.length > MAX_APPROVALS) {
    throw new RangeError(
      `Cannot ask for keys: there are ${ids.length} identities, 1 to ` +
        `${MAX_APPROVALS} go at a time`,
    );
  }
  if (ids.some((id) => id.length > MAX_ID_BYTES)) {
    throw new RangeError(
      `Cannot ask for keys: an identity has more than ${MAX_ID_BYTES} bytes`,
    );
  }
  const objects = registry === undefined ? [account] : [account, registry];
  const writer = new BcsWriter().length(PROGRAMMABLE_TRANSACTION);
  writer.length(objects.length + ids.length);
  for (const { objectId, initialVersion } of objects) {
    writer.length(OBJECT).length(SHARED_OBJECT).address(objectId)
      .u64(initialVersion).bool(false);
  }
  for (const id of ids) {
    writer.length(PURE).byteVector(new BcsWriter().byteVector(id).toBytes());
  }
  return writer.vector([...ids.keys()], (each, index) => {
    each.length(MOVE_CALL).address(packageId).string(MODULE).string(FUNCTION)
      .length(0);
    const inputs = [objects.length + index, ...objects.keys()];
    each.vector(inputs, (argument, input) => argument.length(INPUT).u16(input));
  }).toBytes();
}
