/**
 * JSON-RPC methods about the ledger itself: its identifier, checkpoints, the
 * gas price, and the functions of its contract.
 *
 * @module
 */

import {
  ACCOUNT_MODULE,
  FUNCTION_FORMS,
  isFunction,
} from "../shared/ledger/account_contract.ts";
import { encodeBase58 } from "../shared/ledger/digest.ts";
import { genesisDigest } from "../relayer/ledger/move_objects.ts";
import { isJsonObject } from "../shared/schema/schema.ts";
import { NO_COST } from "./effects_view.ts";
import {
  ANY,
  badParams,
  type Json,
  method,
  readId,
  RpcError,
  type RpcMethod,
} from "./rpc_method.ts";

/**
 * The price of a unit of gas. No transaction uses any gas, but clients add some
 * units to be safe, and would take a budget of 0 for a transaction without
 * payment.
 */
const GAS_PRICE = "1000";

/** The protocol version that clients get; no client uses it. */
const PROTOCOL_VERSION = "1";

/** Answers the number of log entries: each entry is a checkpoint of its own. */
const LATEST_CHECKPOINT: RpcMethod = (_params, { ledger }) =>
  String(ledger.log.head().sequence);

/** No validators, no stake, and an only epoch that does not end. */
const SYSTEM_STATE: Json = {
  epoch: "0",
  protocolVersion: PROTOCOL_VERSION,
  systemStateVersion: "1",
  referenceGasPrice: GAS_PRICE,
  epochStartTimestampMs: "0",
  epochDurationMs: "0",
  safeMode: false,
  safeModeStorageRewards: "0",
  safeModeComputationRewards: "0",
  safeModeStorageRebates: "0",
  safeModeNonRefundableStorageFee: "0",
  stakeSubsidyStartEpoch: "0",
  maxValidatorCount: "0",
  minValidatorJoiningStake: "0",
  validatorLowStakeThreshold: "0",
  validatorVeryLowStakeThreshold: "0",
  validatorLowStakeGracePeriod: "0",
  storageFundTotalObjectStorageRebates: "0",
  storageFundNonRefundableBalance: "0",
  stakeSubsidyBalance: "0",
  stakeSubsidyDistributionCounter: "0",
  stakeSubsidyCurrentDistributionAmount: "0",
  stakeSubsidyPeriodLength: "0",
  stakeSubsidyDecreaseRate: 0,
  totalStake: "0",
  activeValidators: [],
  pendingRemovals: [],
  atRiskValidators: [],
  validatorReportRecords: [],
};

/** The methods, by name. */
export const CHAIN_METHODS: Readonly<Record<string, RpcMethod>> = {
  /** Four bytes that tell one ledger from another. */
  sui_getChainIdentifier: (_params, { ledger }) =>
    genesisDigest(ledger.packageId).toHex().slice(0, 8),
  sui_getLatestCheckpointSequenceNumber: LATEST_CHECKPOINT,
  sui_getTotalTransactionBlocks: LATEST_CHECKPOINT,
  sui_getCheckpoint: method({
    params: [
      (id) =>
        /^\d{1,15}$/.test(String(id))
          ? String(id)
          : badParams("a checkpoint is asked for by its number"),
    ],
    reads: 1,
    answer([number], { ledger: { log, packageId } }) {
      const sequence = Number(number);
      const genesis = genesisDigest(packageId);
      if (sequence === 0) return checkpointView({ sequence, digest: genesis });
      const entry = log.at(sequence);
      if (entry === undefined) {
        throw new RpcError(
          -32602,
          `Cannot find checkpoint: there is no number ${number}`,
        );
      }
      return {
        ...checkpointView({ sequence, digest: entry.hash }),
        previousDigest: encodeBase58(log.at(sequence - 1)?.hash ?? genesis),
        timestampMs: String(entry.timeMs),
        transactions: [encodeBase58(entry.digest)],
      };
    },
  }),
  suix_getReferenceGasPrice: () => GAS_PRICE,
  suix_getLatestSuiSystemState: () => SYSTEM_STATE,
  sui_getNormalizedMoveFunction: method({
    params: [ANY, ANY, ANY],
    answer([id, module, name], { ledger: { packageId } }) {
      const isOurs = readId(id) === packageId && module === ACCOUNT_MODULE;
      if (!isOurs || typeof name !== "string" || !isFunction(name)) {
        throw new RpcError(
          -32602,
          "Cannot find function: the ledger has no such one",
        );
      }
      const [form = ""] = FUNCTION_FORMS[name];
      const context = struct("0x2", "tx_context", "TxContext");
      return {
        visibility: "Private",
        isEntry: true,
        typeParameters: [],
        parameters: [
          ...Array.from(form, (letter) => describeType(letter, packageId)),
          { MutableReference: context },
        ],
        return: [],
      };
    },
  }),
  /** Clients read only the version. */
  "rpc.discover": (params) =>
    params.length > 0 && !isJsonObject(params[0])
      ? badParams("the method takes no parameters")
      : { openrpc: "1.2.6", info: { version: "1.0.0" }, methods: [] },
};

function checkpointView(
  { sequence, digest }: {
    readonly sequence: number;
    readonly digest: Uint8Array;
  },
): Json {
  return {
    epoch: "0",
    sequenceNumber: String(sequence),
    digest: encodeBase58(digest),
    networkTotalTransactions: String(sequence),
    previousDigest: null,
    epochRollingGasCostSummary: NO_COST,
    timestampMs: "0",
    transactions: [],
    checkpointCommitments: [],
    // No validators sign checkpoints; the hashes of the log protect them.
    validatorSignature: "",
  };
}

/** The type of a parameter, from its letter in {@linkcode FUNCTION_FORMS}. */
function describeType(letter: string, packageId: string): unknown {
  const own = (name: string) => struct(packageId, ACCOUNT_MODULE, name);
  switch (letter) {
    case "b":
      return { Vector: "U8" };
    case "t":
      return struct("0x1", "string", "String");
    case "c":
      return { Reference: struct("0x2", "clock", "Clock") };
    case "a":
      return { Reference: own("MemWalAccount") };
    case "A":
      return { MutableReference: own("MemWalAccount") };
    case "r":
      return { Reference: own("AccountRegistry") };
    default:
      return { MutableReference: own("AccountRegistry") };
  }
}

function struct(address: string, module: string, name: string): unknown {
  return { Struct: { address, module, name, typeArguments: [] } };
}
