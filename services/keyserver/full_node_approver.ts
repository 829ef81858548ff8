/**
 * Approves key requests by a full node of a public ledger, which tries the
 * approving transaction as if the requesting address had sent it. The node's
 * word is trusted: run one, or ask one you trust.
 *
 * @module
 */

import type { MoveCall } from "../shared/ledger/transaction.ts";
import { BcsError, BcsReader } from "../../sdk/vault/bcs.ts";
import { type Clock, steadyClock } from "../shared/clock.ts";
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

/** Options of {@linkcode FullNodeApprover}. */
interface FullNodeApproverOptions {
  /** The package whose keys are given, by the id of its first version. */
  readonly packageId: string;
  /** Calls the full node. */
  readonly rpc: LedgerRpc;
  /** The time, to tell how old the node's last checkpoint is. */
  readonly clock: Clock;
}

/**
 * Oldest last checkpoint that a node may have: a node further behind may not
 * know yet that a key was removed.
 */
const MAX_STALE_MS = 120_000;
/** How long a check of the node's last checkpoint counts. */
const FRESH_MS = 10_000;

/** The name, or the beginning of the name, of functions that approve. */
const APPROVING = "seal_approve";

/** Approves requests by trying their transactions on a full node. */
export class FullNodeApprover implements Approver {
  readonly #options: FullNodeApproverOptions;
  #freshUntilMs = -Infinity;

  /** An approver for one package. */
  constructor(options: FullNodeApproverOptions) {
    this.#options = options;
  }

  /**
   * Answers whether the address may have the keys: the node must be up to date,
   * and the transaction must succeed on it.
   */
  async approve({ user, kind }: ApprovalQuestion): Promise<ApprovalAnswer> {
    const { packageId, rpc } = this.#options;
    const read = readApprovalCalls(kind);
    if (read.kind === "invalid") return read;
    const ids: Uint8Array[] = [];
    // Which argument is the account depends on the contract, so it is not
    // known.
    const account = undefined;
    for (const call of read.value) {
      if (call.packageId !== packageId) return OTHER_PACKAGE;
      const id = readIdentity(call);
      if (id === undefined) {
        const reason =
          `Cannot approve: a call is not of ${APPROVING} with an ` +
          "identity and shared objects";
        return { kind: "invalid", reason };
      }
      ids.push(id);
    }
    const stale = await this.#staleness();
    if (stale !== undefined) return stale;
    const answer = await rpc.call("sui_devInspectTransactionBlock", [
      user,
      kind.toBase64(),
      null,
      null,
      // Without this option a node skips most checks of a real execution.
      { skipChecks: false },
    ]);
    if (answer.kind === "unavailable") return unanswered(answer.reason);
    if (answer.kind === "error") return { ...answer, kind: "refused" };
    return hasSucceeded(answer.result) ? { kind: "ok", ids, account } : {
      kind: "refused",
      reason: "Cannot approve: the transaction would not succeed",
    };
  }

  /** Returns why the node cannot be relied on now; undefined when it can. */
  async #staleness(): Promise<ApprovalAnswer | undefined> {
    const { rpc, clock } = this.#options;
    const steady = steadyClock(clock);
    const beganMs = steady.nowMs();
    if (beganMs < this.#freshUntilMs) return undefined;
    const last = await rpc.call("sui_getLatestCheckpointSequenceNumber", []);
    if (last.kind !== "ok") return unanswered(last.reason);
    const checkpoint = await rpc.call("sui_getCheckpoint", [last.result]);
    if (checkpoint.kind !== "ok") return unanswered(checkpoint.reason);
    const { result } = checkpoint;
    const timeMs = isJsonObject(result) ? Number(result["timestampMs"]) : NaN;
    const ageMs = clock.nowMs() - timeMs;
    if (!(ageMs <= MAX_STALE_MS)) {
      return unanswered(
        `the node's last checkpoint is ${ageMs} ms old, or has no time`,
      );
    }
    this.#freshUntilMs = beganMs + FRESH_MS;
    return undefined;
  }

  /** Does nothing: there are no open files. */
  close(): void {}
}

/**
 * Returns the identity that a call approves; undefined for any other call. All
 * further arguments must be shared objects: a trial run would take made-up
 * values for anything else, even what the sender cannot have.
 */
function readIdentity(
  { functionName, inputs }: MoveCall,
): Uint8Array | undefined {
  const [first, ...others] = inputs;
  if (!functionName.startsWith(APPROVING) || first?.kind !== "pure") {
    return undefined;
  }
  if (others.some(({ kind }) => kind !== "shared")) return undefined;
  try {
    const reader = new BcsReader(first.bytes);
    const id = reader.byteVector();
    reader.end();
    return isIdentityLength(id) ? id : undefined;
  } catch (error) {
    if (error instanceof BcsError) return undefined;
    throw error;
  }
}

function hasSucceeded(result: unknown): boolean {
  const effects = isJsonObject(result) ? result["effects"] : undefined;
  const status = isJsonObject(effects) ? effects["status"] : undefined;
  return isJsonObject(status) && status["status"] === "success";
}
