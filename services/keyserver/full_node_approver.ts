/**
 * Approves by a full node of a public ledger, which tries the approving transaction as
 * the address that asks. The node's word is trusted: run one, or ask one you trust.
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
  /** The package whose keys are given, in its first version. */
  readonly packageId: string;
  /** The node. */
  readonly rpc: LedgerRpc;
  /** Tells how old is what the node knows. */
  readonly clock: Clock;
}

/** A node that is further behind may not know yet that a key was removed. */
const MAX_STALE_MS = 120_000;
/** How long what was found out about that counts. */
const FRESH_MS = 10_000;

/** What functions that approve are called, or begin with. */
const APPROVING = "seal_approve";

/** Approves by a node's word. */
export class FullNodeApprover implements Approver {
  readonly #options: FullNodeApproverOptions;
  #freshUntilMs = -Infinity;

  /** An approver for one package. */
  constructor(options: FullNodeApproverOptions) {
    this.#options = options;
  }

  /** Answers. */
  async approve({ user, kind }: ApprovalQuestion): Promise<ApprovalAnswer> {
    const { packageId, rpc } = this.#options;
    const read = readApprovalCalls(kind);
    if (read.kind === "invalid") return read;
    const ids: Uint8Array[] = [];
    // What else is shared with the function depends on the contract.
    const account = undefined;
    for (const call of read.value) {
      if (call.packageId !== packageId) return OTHER_PACKAGE;
      const id = identityOf(call);
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
      // Without this a node leaves out most of what it checks in earnest.
      { skipChecks: false },
    ]);
    if (answer.kind === "unavailable") return unanswered(answer.reason);
    if (answer.kind === "error") return { ...answer, kind: "refused" };
    return hasSucceeded(answer.result) ? { kind: "ok", ids, account } : {
      kind: "refused",
      reason: "Cannot approve: the transaction would not succeed",
    };
  }

  /** Why the node's word cannot be trusted now; undefined when it can. */
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

  /** There is nothing to close. */
  close(): void {}
}

/**
 * The identity that a call is for. All its objects must be shared ones: a trial takes
 * values for anything else that the sender cannot have.
 */
function identityOf(
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
