/**
 * JSON-RPC methods about the ledger itself: its identifier, checkpoints, the
 * gas price, and the functions of its contract.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import { ACCOUNT_MODULE } from "../../shared/ledger/account_contract.ts";
import { encodeBase58 } from "../../shared/ledger/digest.ts";
import { genesisDigest } from "./move_objects.ts";
import {
  badParams,
  failed,
  idOf,
  type RpcContext,
  type RpcMethod,
  type RpcOutcome,
  type RpcParams,
  tooMany,
} from "./rpc_call.ts";

/** The methods, by name. */
export const CHAIN_METHODS: readonly (readonly [string, RpcMethod])[] = [
  ["sui_getChainIdentifier", getChainIdentifier],
  ["sui_getLatestCheckpointSequenceNumber", getLatestCheckpoint],
  ["sui_getTotalTransactionBlocks", getLatestCheckpoint],
  ["sui_getCheckpoint", getCheckpoint],
  ["suix_getReferenceGasPrice", () => ({ result: GAS_PRICE })],
  ["suix_getLatestSuiSystemState", getSystemState],
  ["sui_getNormalizedMoveFunction", getMoveFunction],
  ["rpc.discover", discover],
];

/**
 * The price of a unit of gas. No transaction uses any gas, but clients add some
 * units to be safe, and would take a budget of 0 for a transaction without
 * payment.
 */
const GAS_PRICE = "1000";

/** The protocol version that clients get; no client uses it. */
const PROTOCOL_VERSION = "1";

/** Four bytes that tell one ledger from another. */
function getChainIdentifier(
  _params: RpcParams,
  { ledger }: RpcContext,
): RpcOutcome {
  return { result: genesisDigest(ledger.packageId).toHex().slice(0, 8) };
}

/** Returns the number of log entries: each entry is a checkpoint of its own. */
function getLatestCheckpoint(
  _params: RpcParams,
  { ledger }: RpcContext,
): RpcOutcome {
  return { result: String(ledger.log.head().sequence) };
}

function getCheckpoint(
  [id]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  if (!/^\d{1,15}$/.test(String(id))) {
    return badParams("a checkpoint is asked for by its number");
  }
  if (--budget.reads < 0) return tooMany();
  const sequence = Number(id);
  const genesis = genesisDigest(ledger.packageId);
  if (sequence === 0) {
    return { result: checkpointView({ sequence, digest: genesis }) };
  }
  const entry = ledger.log.at(sequence);
  if (entry === undefined) {
    return failed(-32602, `Cannot find checkpoint: there is no number ${id}`);
  }
  const before = ledger.log.at(sequence - 1)?.hash ?? genesis;
  return {
    result: {
      ...checkpointView({ sequence, digest: entry.hash }),
      previousDigest: encodeBase58(before),
      timestampMs: String(entry.timeMs),
      transactions: [encodeBase58(entry.digest)],
    },
  };
}

function checkpointView(
  { sequence, digest }: {
    readonly sequence: number;
    readonly digest: Uint8Array;
  },
): Readonly<Record<string, unknown>> {
  return {
    epoch: "0",
    sequenceNumber: String(sequence),
    digest: encodeBase58(digest),
    networkTotalTransactions: String(sequence),
    previousDigest: null,
    epochRollingGasCostSummary: {
      computationCost: "0",
      storageCost: "0",
      storageRebate: "0",
      nonRefundableStorageFee: "0",
    },
    timestampMs: "0",
    transactions: [],
    checkpointCommitments: [],
    // No validators sign checkpoints; the hashes of the log protect them.
    validatorSignature: "",
  };
}

function getSystemState(): RpcOutcome {
  const none = "0";
  return {
    result: {
      epoch: none,
      protocolVersion: PROTOCOL_VERSION,
      systemStateVersion: "1",
      referenceGasPrice: GAS_PRICE,
      epochStartTimestampMs: none,
      epochDurationMs: none,
      safeMode: false,
      safeModeStorageRewards: none,
      safeModeComputationRewards: none,
      safeModeStorageRebates: none,
      safeModeNonRefundableStorageFee: none,
      stakeSubsidyStartEpoch: none,
      maxValidatorCount: none,
      minValidatorJoiningStake: none,
      validatorLowStakeThreshold: none,
      validatorVeryLowStakeThreshold: none,
      validatorLowStakeGracePeriod: none,
      storageFundTotalObjectStorageRebates: none,
      storageFundNonRefundableBalance: none,
      stakeSubsidyBalance: none,
      stakeSubsidyDistributionCounter: none,
      stakeSubsidyCurrentDistributionAmount: none,
      stakeSubsidyPeriodLength: none,
      stakeSubsidyDecreaseRate: 0,
      totalStake: none,
      activeValidators: [],
      pendingRemovals: [],
      atRiskValidators: [],
      validatorReportRecords: [],
    },
  };
}

type Parameter =
  | "registry"
  | "registry mut"
  | "account"
  | "account mut"
  | "clock"
  | "bytes"
  | "text";

/** The parameters of each function, as the newest contract has them. */
const FUNCTIONS: Readonly<Record<string, readonly Parameter[]>> = {
  create_account: ["registry mut", "clock"],
  add_delegate_key: ["account mut", "registry", "bytes", "text", "clock"],
  remove_delegate_key: ["account mut", "registry", "bytes"],
  deactivate_account: ["account mut", "registry"],
  reactivate_account: ["account mut", "registry"],
  seal_approve: ["bytes", "registry", "account"],
};

function getMoveFunction(
  [id, module, name]: RpcParams,
  { ledger: { packageId } }: RpcContext,
): RpcOutcome {
  const parameters = idOf(id) === packageId && module === ACCOUNT_MODULE &&
      typeof name === "string" && Object.hasOwn(FUNCTIONS, name)
    ? FUNCTIONS[name]
    : undefined;
  if (parameters === undefined) {
    return failed(-32602, "Cannot find function: the ledger has no such one");
  }
  const context = struct("0x2", "tx_context", "TxContext");
  return {
    result: {
      visibility: "Private",
      isEntry: true,
      typeParameters: [],
      parameters: [
        ...parameters.map((parameter) => typeOf(parameter, packageId)),
        { MutableReference: context },
      ],
      return: [],
    },
  };
}

function typeOf(parameter: Parameter, packageId: string): unknown {
  switch (parameter) {
    case "bytes":
      return { Vector: "U8" };
    case "text":
      return struct("0x1", "string", "String");
    case "clock":
      return { Reference: struct("0x2", "clock", "Clock") };
    default: {
      const [name, isMutable] = parameter.split(" ");
      const type = name === "account" ? "MemWalAccount" : "AccountRegistry";
      const body = struct(packageId, ACCOUNT_MODULE, type);
      return isMutable === undefined
        ? { Reference: body }
        : { MutableReference: body };
    }
  }
}

function struct(address: string, module: string, name: string): unknown {
  return { Struct: { address, module, name, typeArguments: [] } };
}

/** Answers `rpc.discover`; clients read only the version. */
function discover(params: RpcParams): RpcOutcome {
  return params.length > 0 && !isJsonObject(params[0])
    ? badParams("none are taken")
    : { result: { openrpc: "1.2.6", info: { version: "1.0.0" }, methods: [] } };
}
