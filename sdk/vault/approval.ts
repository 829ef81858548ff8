/**
 * Writes the approving transaction that a key server checks before it gives
 * keys. The transaction calls `seal_approve` of the account's module once for
 * each identity and is never executed; the key server only tests whether it
 * would succeed. The bytes are those of a programmable transaction in the
 * ledger's canonical form.
 *
 * @module
 */

import { BcsWriter } from "./bcs.ts";

/** A shared object in the form in which transactions name it. */
export interface SharedObject {
  /** Where it is on the ledger. */
  readonly objectId: string;
  /** The version in which it became shared. */
  readonly initialVersion: bigint;
}

/** Options of {@linkcode writeApproval}. */
interface ApprovalOptions {
  /** The package whose keys are requested. */
  readonly packageId: string;
  /** The account. */
  readonly account: SharedObject;
  /**
   * The registry of accounts, the second argument of the function.
   *
   * @default the function is called without a registry
   */
  readonly registry?: SharedObject | undefined;
  /** The identities, without the package's id before them. */
  readonly ids: readonly Uint8Array[];
}

/** The most identities in one transaction. */
export const MAX_APPROVALS = 100;
/** The most bytes of an identity. */
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
 * Writes an approving transaction. Key servers are sent its bytes without the
 * first one.
 *
 * @throws {RangeError} When there are no identities or more than 100, or one is
 * too long.
 */
export function writeApproval(
  options: ApprovalOptions,
): Uint8Array<ArrayBuffer> {
  const { packageId, account, registry, ids } = options;
  if (ids.length === 0 || ids.length > MAX_APPROVALS) {
    throw new RangeError(
      `Cannot request keys: there are ${ids.length} identities, 1 to ` +
        `${MAX_APPROVALS} go at a time`,
    );
  }
  if (ids.some((id) => id.length > MAX_ID_BYTES)) {
    throw new RangeError(
      `Cannot request keys: an identity has more than ${MAX_ID_BYTES} bytes`,
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
