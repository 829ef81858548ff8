/**
 * Identities that memories are encrypted to: the namespace in UTF-8, the
 * owner's address and, where the contract counts removed keys, that count.
 * Because of the count, a delegate that was removed cannot decrypt later
 * memories with keys that it kept.
 *
 * @module
 */

import { encodeHex } from "../memory/encodings.ts";
import { sha256 } from "../memory/cryptography.ts";
import { BcsReader, BcsWriter } from "../vault/bcs.ts";
import type { LedgerAccount } from "../vault/ledger_reader.ts";

const ADDRESS_BYTES = 32;
const COUNTER_BYTES = 8;

/** The identity that a new memory of an account is encrypted to. */
export function buildIdentity(
  namespace: string,
  { owner, accessCounter }: Pick<LedgerAccount, "owner" | "accessCounter">,
): Uint8Array<ArrayBuffer> {
  const writer = new BcsWriter().bytes(new TextEncoder().encode(namespace))
    .address(owner);
  return (accessCounter === undefined ? writer : writer.u64(accessCounter))
    .toBytes();
}

/**
 * Returns why an identity does not belong to an account's namespace; undefined
 * when it does. A memory that the relayer returns for a namespace must have
 * been encrypted for that namespace: otherwise the relayer could show the
 * memories of one namespace as those of another.
 */
export function identityFault(
  id: Uint8Array,
  { namespace, account: { owner, accessCounter } }: {
    readonly namespace: string;
    readonly account: Pick<LedgerAccount, "owner" | "accessCounter">;
  },
): string | undefined {
  const ownerBytes = new BcsWriter().address(owner).toBytes();
  const name = new TextEncoder().encode(namespace);
  const ends = [
    { counterBytes: 0, prefix: id.length - ADDRESS_BYTES },
    {
      counterBytes: COUNTER_BYTES,
      prefix: id.length - ADDRESS_BYTES - COUNTER_BYTES,
    },
  ];
  const end = ends.find(({ prefix }) =>
    prefix >= 0 &&
    isSame(id.subarray(prefix, prefix + ADDRESS_BYTES), ownerBytes)
  );
  if (end === undefined) return "it is encrypted for another owner";
  const { prefix, counterBytes } = end;
  // Early clients wrote identities of the owner's address alone.
  if (prefix > 0 && !isSame(id.subarray(0, prefix), name)) {
    return "it is encrypted for another namespace";
  }
  if (counterBytes === 0) return undefined;
  const counter = new BcsReader(id.subarray(prefix + ADDRESS_BYTES)).u64();
  return counter <= (accessCounter ?? 0n)
    ? undefined
    : "it is encrypted for a time to come";
}

/**
 * Returns the object id of an account of an embedded ledger. The id is computed
 * from the package and the owner, so that a client that knows the id need not
 * trust the ledger about the owner.
 */
export async function deriveLocalAccountId(
  packageId: string,
  owner: string,
): Promise<string> {
  const text = new TextEncoder().encode(`account ${packageId} ${owner}`);
  return `0x${encodeHex(await sha256(text))}`;
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length &&
    left.every((byte, at) => byte === right[at]);
}
