/**
 * Approves key requests by the owner's signed transactions: the account's state
 * is computed from them, and nothing else that the ledger's operator says
 * counts. What was seen once stays on disk, so that a history that was cut or
 * set back is refused.
 *
 * One attack stays undetected: the newest transactions can be withheld from a
 * key server that has not seen them yet.
 *
 * @module
 */

import { encodeBase58 } from "../shared/ledger/digest.ts";
import {
  type AccountCall,
  type AccountState,
  applyCall,
  deriveAccountId,
  readAccountCall,
} from "../shared/ledger/account_contract.ts";
import { AccountReplay } from "../shared/ledger/account_replay.ts";
import {
  hashTransaction,
  readSignedTransaction,
} from "../shared/ledger/transaction.ts";
import { isJsonObject } from "../shared/schema/schema.ts";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type Approver,
  isIdentityLength,
  OTHER_PACKAGE,
  readApprovalCalls,
  unanswered,
} from "./approver.ts";
import type { LedgerRpc } from "./ledger_rpc.ts";
import type { SeenAccount, SeenAccounts } from "./seen_accounts.ts";

/** Options of {@linkcode SignedApprover}. */
interface SignedApproverOptions {
  /** The package whose keys are given. */
  readonly packageId: string;
  /** Calls the ledger that transactions are read from. */
  readonly rpc: LedgerRpc;
  /** The record of what was seen before. */
  readonly seen: SeenAccounts;
}

type ApproveCall = Extract<AccountCall, { readonly kind: "seal_approve" }>;

type AccountOutcome =
  | { readonly kind: "ok"; readonly account: AccountState | undefined }
  | Extract<ApprovalAnswer, { readonly kind: "unavailable" }>;

interface Reading {
  /** The reading that is under way. */
  readonly current: Promise<AccountOutcome>;
  /**
   * The reading that begins after it, shared by everyone who asks meanwhile.
   */
  next: Promise<AccountOutcome> | undefined;
}

/** Most transactions of a page that the ledger is asked for. */
const PAGE = 50;
/**
 * Most pages that one request reads; what was read is kept, so that the next
 * request goes on from there.
 */
const MAX_PAGES = 40;
const ADDRESS_BYTES = 32;
const COUNTER_BYTES = 8;

/** Approves requests by replaying the owner's signed transactions. */
export class SignedApprover implements Approver {
  readonly #options: SignedApproverOptions;
  /**
   * Owners whose transactions are being read; an owner has one reading at a
   * time.
   */
  readonly #underWay = new Map<string, Reading>();

  /** An approver for one package. */
  constructor(options: SignedApproverOptions) {
    this.#options = options;
  }

  /**
   * Answers whether the address may have the keys, by the accounts as the
   * owners' signed transactions make them.
   */
  async approve(
    { user, kind }: ApprovalQuestion,
  ): Promise<ApprovalAnswer> {
    const { packageId } = this.#options;
    const read = readApprovalCalls(kind);
    if (read.kind === "invalid") return read;
    const calls: ApproveCall[] = [];
    for (const moveCall of read.value) {
      if (moveCall.packageId !== packageId) return OTHER_PACKAGE;
      const reading = readAccountCall(moveCall, { packageId });
      if (reading.kind === "invalid") return reading;
      const { call } = reading;
      if (call.kind !== "seal_approve" || !isIdentityLength(call.id)) {
        const reason =
          "Cannot approve: a call is not of seal_approve, or its " +
          "identity is too long";
        return { kind: "invalid", reason };
      }
      calls.push(call);
    }
    return await this.#approveCalls(calls, user);
  }

  async #approveCalls(
    calls: readonly ApproveCall[],
    user: string,
  ): Promise<ApprovalAnswer> {
    const { packageId } = this.#options;
    // Each account is read once, for all calls that name it.
    const accounts = new Map<string, AccountOutcome>();
    for (const call of calls) {
      const { accountId } = call;
      const owner = findOwner(call.id, { accountId, packageId });
      const outcome: AccountOutcome = owner === undefined
        ? { kind: "ok", account: undefined }
        : accounts.get(owner) ?? await this.#account(owner);
      if (owner !== undefined) accounts.set(owner, outcome);
      if (outcome.kind === "unavailable") return outcome;
      const { account } = outcome;
      const applied = applyCall(call, {
        ...{ packageId, sender: user, account },
        nowMs: 0,
      });
      if (account === undefined || applied.kind === "abort") {
        const reason = account?.isActive === false
          ? "Cannot approve: the account is deactivated"
          : "Cannot approve: the address may not have keys of the identity";
        return { kind: "refused", reason };
      }
    }
    const ids = calls.map(({ id }) => id);
    return { kind: "ok", ids, account: calls[0]?.accountId };
  }

  /** Closes the file of the record. */
  close(): void {
    this.#options.seen.close();
  }

  #account(owner: string): Promise<AccountOutcome> {
    const reading = this.#underWay.get(owner);
    if (reading === undefined) return this.#begin(owner);
    // The reading under way may have begun before a key was removed, so the
    // caller waits for a new one; but when it finds no ledger, a new one would
    // only wait as long in vain.
    reading.next ??= reading.current.then((outcome) => {
      if (outcome.kind === "ok") return this.#begin(owner);
      this.#underWay.delete(owner);
      return outcome;
    }, (error) => {
      this.#underWay.delete(owner);
      throw error;
    });
    return reading.next;
  }

  #begin(owner: string): Promise<AccountOutcome> {
    const current = this.#readAccount(owner);
    const reading: Reading = { current, next: undefined };
    this.#underWay.set(owner, reading);
    const end = (): void => {
      const isLast = this.#underWay.get(owner) === reading &&
        reading.next === undefined;
      if (isLast) this.#underWay.delete(owner);
    };
    current.then(end, end);
    return current;
  }

  async #readAccount(owner: string): Promise<AccountOutcome> {
    const { packageId, rpc, seen } = this.#options;
    let from = seen.get(owner);
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await rpc.call("suix_queryTransactionBlocks", [
        { filter: { FromAddress: owner }, options: { showRawInput: true } },
        from?.lastDigest ?? null,
        PAGE,
        false,
      ]);
      if (answer.kind === "unavailable") return unanswered(answer.reason);
      if (answer.kind === "error") {
        return contradiction(`the ledger does not go on: ${answer.reason}`);
      }
      const read = readPage(answer.result);
      if (read === undefined) {
        return contradiction("the ledger's answer is not a page");
      }
      const next = replayed(read.transactions, { packageId, owner, from });
      if (next.kind === "broken") return contradiction(next.reason);
      if (next.seen !== undefined) {
        // Recorded before anything is decided by it.
        seen.put(owner, next.seen);
        from = next.seen;
      }
      if (!read.hasMore) return { kind: "ok", account: from?.account };
    }
    return {
      kind: "unavailable",
      reason: "Cannot approve: the owner has sent too many transactions to " +
        "read at once; ask again",
      isAlarming: false,
    };
  }
}

/**
 * Returns the owner's address in an identity, if the account is that owner's:
 * an identity ends with the address, or with the address and a counter, and the
 * account's id follows from the address.
 */
function findOwner(
  id: Uint8Array,
  { accountId, packageId }: {
    readonly accountId: string;
    readonly packageId: string;
  },
): string | undefined {
  for (const after of [0, COUNTER_BYTES]) {
    const end = id.length - after;
    if (end < ADDRESS_BYTES) continue;
    const owner = `0x${id.subarray(end - ADDRESS_BYTES, end).toHex()}`;
    if (deriveAccountId(packageId, owner) === accountId) return owner;
  }
  return undefined;
}

interface Page {
  readonly transactions: readonly Uint8Array[];
  readonly hasMore: boolean;
}

function readPage(result: unknown): Page | undefined {
  const data = isJsonObject(result) ? result["data"] : undefined;
  if (!isJsonObject(result) || !Array.isArray(data) || data.length > PAGE) {
    return undefined;
  }
  const transactions: Uint8Array[] = [];
  for (const entry of data) {
    const raw: unknown = isJsonObject(entry)
      ? entry["rawTransaction"]
      : undefined;
    if (typeof raw !== "string") return undefined;
    try {
      transactions.push(Uint8Array.fromBase64(raw));
    } catch {
      // Not Base64: the answer is not a valid page.
      return undefined;
    }
  }
  const hasMore = result["hasNextPage"] === true;
  // An empty page with more to follow would be asked for again and again.
  return hasMore && transactions.length === 0
    ? undefined
    : { transactions, hasMore };
}

type Replayed =
  | { readonly kind: "ok"; readonly seen: SeenAccount | undefined }
  | { readonly kind: "broken"; readonly reason: string };

function replayed(
  transactions: readonly Uint8Array[],
  { packageId, owner, from }: {
    readonly packageId: string;
    readonly owner: string;
    readonly from: SeenAccount | undefined;
  },
): Replayed {
  const replay = new AccountReplay({ packageId, owner, from });
  let lastDigest: string | undefined;
  for (const signed of transactions) {
    // Times are the ledger's word, and decide nothing.
    const outcome = replay.add(signed, { timestampMs: 0 });
    if (outcome.kind === "broken") return outcome;
    const read = readSignedTransaction(signed);
    if (read.kind === "ok") {
      lastDigest = encodeBase58(hashTransaction(read.value.data));
    }
  }
  if (lastDigest === undefined) return { kind: "ok", seen: undefined };
  const { account, gasCoin } = replay;
  return { kind: "ok", seen: { account, gasCoin, lastDigest } };
}

function contradiction(state: string): AccountOutcome {
  const reason = `Cannot approve: the ledger contradicts itself (${state})`;
  return { kind: "unavailable", reason, isAlarming: true };
}
