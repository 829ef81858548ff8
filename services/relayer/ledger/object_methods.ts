/**
 * JSON-RPC methods that read objects, their entries, and coins.
 *
 * @module
 */

import { addressBytes, BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  CLOCK_ID,
  registryIdOf,
} from "../../shared/ledger/account_contract.ts";
import { encodeBase58 } from "../../shared/ledger/digest.ts";
import { firstGasCoin } from "../../shared/ledger/gas_chain.ts";
import { keyServerObject } from "./key_server_objects.ts";
import type { LocalLedger } from "./local_ledger.ts";
import {
  accountObject,
  clockObject,
  COIN_BALANCE,
  coinObject,
  entryIdOf,
  GAS_TYPE,
  genesisDigest,
  type MoveObject,
  registryEntryObject,
  registryObject,
} from "./move_objects.ts";
import {
  badParams,
  idOf,
  noId,
  optionsOf,
  type RpcContext,
  type RpcMethod,
  type RpcOutcome,
  type RpcParams,
  tooMany,
} from "./rpc_call.ts";
import { ownerView } from "./transaction_view.ts";

type Json = Readonly<Record<string, unknown>>;

/** The methods, by name. */
export const OBJECT_METHODS: readonly (readonly [string, RpcMethod])[] = [
  ["sui_getObject", getObject],
  ["sui_multiGetObjects", multiGetObjects],
  ["suix_getDynamicFieldObject", getDynamicFieldObject],
  ["suix_getOwnedObjects", getOwnedObjects],
  ["suix_getCoins", getCoins],
  ["suix_getAllCoins", getAllCoins],
  ["suix_getBalance", getBalance],
  ["suix_getAllBalances", getAllBalances],
];

function getObject(
  [id, options]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  const objectId = idOf(id);
  if (objectId === undefined) return noId();
  if (--budget.reads < 0) return tooMany();
  return { result: read(objectId, { ledger, shown: optionsOf(options) }) };
}

function multiGetObjects(
  [ids, options]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  if (!Array.isArray(ids)) return noId();
  budget.reads -= ids.length;
  if (budget.reads < 0) return tooMany();
  const objectIds = ids.map(idOf);
  const shown = optionsOf(options);
  const result: unknown[] = [];
  for (const objectId of objectIds) {
    if (objectId === undefined) return noId();
    result.push(read(objectId, { ledger, shown }));
  }
  return { result };
}

/** Options that show everything of an entry. */
const SHOW_ALL: Json = {
  showType: true,
  showOwner: true,
  showContent: true,
  showBcs: true,
  showPreviousTransaction: true,
};

function getDynamicFieldObject(
  [parent, name]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  const parentId = idOf(parent);
  if (parentId === undefined) return noId();
  if (--budget.reads < 0) return tooMany();
  const entryId = nameOf(parentId, optionsOf(name));
  if (entryId === undefined) {
    return badParams("an entry's name is an address or a u64, with its type");
  }
  const object = objectOf(entryId, ledger);
  return {
    result: object === undefined
      ? { error: { code: "dynamicFieldNotFound", parent_object_id: parentId } }
      : { data: dataOf(object, SHOW_ALL) },
  };
}

function nameOf(
  parentId: string,
  { type, value }: Json,
): string | undefined {
  if (type === "address") {
    const address = idOf(value);
    return address &&
      entryIdOf(parentId, { type, bytes: addressBytes(address) });
  }
  if (type !== "u64" || !/^\d{1,19}$/.test(String(value))) return undefined;
  const bytes = new BcsWriter().u64(BigInt(String(value))).toBytes();
  return entryIdOf(parentId, { type, bytes });
}

/** Finds an object of the ledger; the package is not an object here. */
function objectOf(
  objectId: string,
  ledger: LocalLedger,
): MoveObject | undefined {
  const { packageId, rows, log } = ledger;
  if (objectId === CLOCK_ID) return clockObject(packageId, log.nextTimeMs());
  if (objectId === registryIdOf(packageId)) {
    return registryObject(packageId, { accounts: rows.count() });
  }
  const account = rows.byId(objectId);
  if (account !== undefined) return accountObject(account, packageId);
  const listed = rows.byEntry(objectId);
  if (listed !== undefined) return registryEntryObject(listed, packageId);
  const server = rows.keyServer(objectId);
  if (server !== undefined) return keyServerObject(server, objectId);
  const sender = rows.senderOfCoin(objectId);
  return sender && coinObject(sender);
}

function read(
  objectId: string,
  { ledger, shown }: { readonly ledger: LocalLedger; readonly shown: Json },
): unknown {
  if (objectId === ledger.packageId) {
    return { data: packageData(objectId, shown) };
  }
  const object = objectOf(objectId, ledger);
  return object === undefined
    ? { error: { code: "notExists", object_id: objectId } }
    : { data: dataOf(object, shown) };
}

/** Shows an object with the parts that the options ask for. */
function dataOf(object: MoveObject, shown: Json): Json {
  const { objectId, version, digest, type, hasPublicTransfer } = object;
  const only = (name: string, value: () => unknown): unknown =>
    shown[name] === true ? value() : undefined;
  return {
    objectId,
    version: String(version),
    digest,
    type: only("showType", () => type),
    owner: only("showOwner", () => ownerView(object.owner)),
    previousTransaction: only(
      "showPreviousTransaction",
      () => object.previousTransaction,
    ),
    storageRebate: only("showStorageRebate", () => "0"),
    content: only("showContent", () => ({
      dataType: "moveObject",
      ...{ type, hasPublicTransfer, fields: object.fields },
    })),
    bcs: only("showBcs", () => ({
      dataType: "moveObject",
      ...{ type, hasPublicTransfer, version: Number(version) },
      bcsBytes: object.contents.toBase64(),
    })),
  };
}

/** Clients would take a package of any other version for an upgraded one. */
const PACKAGE_VERSION = "1";

function packageData(packageId: string, shown: Json): Json {
  const digest = encodeBase58(genesisDigest(packageId));
  const only = (name: string, value: unknown): unknown =>
    shown[name] === true ? value : undefined;
  return {
    objectId: packageId,
    version: PACKAGE_VERSION,
    digest,
    type: only("showType", "package"),
    owner: only("showOwner", "Immutable"),
    previousTransaction: only("showPreviousTransaction", digest),
    storageRebate: only("showStorageRebate", "0"),
    content: only("showContent", { dataType: "package", disassembled: {} }),
    bcs: only("showBcs", {
      dataType: "package",
      id: packageId,
      version: Number(PACKAGE_VERSION),
      moduleMap: {},
      typeOriginTable: [],
      linkageTable: {},
    }),
  };
}

/** The one coin of an address. */
function coinOf(address: string, ledger: LocalLedger): MoveObject {
  const sender = ledger.rows.sender(address) ?? {
    address,
    coin: firstGasCoin(address),
    lastDigest: genesisDigest(ledger.packageId),
  };
  return coinObject(sender);
}

/**
 * Reads the address of a call about coins, and whether it asks for the ledger's
 * currency.
 */
function coinsOf(
  address: unknown,
  coinType: unknown,
): { readonly owner: string; readonly isGas: boolean } | undefined {
  const owner = idOf(address);
  if (owner === undefined) return undefined;
  if (coinType === undefined || coinType === null) {
    return { owner, isGas: true };
  }
  const [id = "", ...name] = String(coinType).split("::");
  const isGas = idOf(id) === idOf("0x2") && name.join("::") === "sui::SUI";
  return { owner, isGas };
}

function getCoins(
  [address, coinType]: RpcParams,
  context: RpcContext,
): RpcOutcome {
  const asked = coinsOf(address, coinType);
  if (asked === undefined) return noId();
  if (--context.budget.reads < 0) return tooMany();
  const data = asked.isGas ? [coinData(asked.owner, context)] : [];
  return { result: { data, nextCursor: null, hasNextPage: false } };
}

function getAllCoins([address]: RpcParams, context: RpcContext): RpcOutcome {
  return getCoins([address], context);
}

function coinData(owner: string, { ledger }: RpcContext): Json {
  const { objectId, version, digest, previousTransaction } = coinOf(
    owner,
    ledger,
  );
  return {
    coinType: GAS_TYPE,
    coinObjectId: objectId,
    version: String(version),
    digest,
    balance: String(COIN_BALANCE),
    previousTransaction,
  };
}

function getBalance([address, coinType]: RpcParams): RpcOutcome {
  const asked = coinsOf(address, coinType);
  if (asked === undefined) return noId();
  return {
    result: {
      coinType: asked.isGas ? GAS_TYPE : coinType,
      coinObjectCount: asked.isGas ? 1 : 0,
      totalBalance: asked.isGas ? String(COIN_BALANCE) : "0",
      lockedBalance: {},
      fundsInAddressBalance: "0",
    },
  };
}

function getAllBalances([address]: RpcParams): RpcOutcome {
  const balance = getBalance([address]);
  return "error" in balance ? balance : { result: [balance.result] };
}

/** Lists what an address owns: its coin and nothing else. */
function getOwnedObjects(
  [address, query]: RpcParams,
  { ledger, budget }: RpcContext,
): RpcOutcome {
  const owner = idOf(address);
  if (owner === undefined) return noId();
  if (--budget.reads < 0) return tooMany();
  const { filter, options } = optionsOf(query);
  const isAll = filter === undefined || filter === null;
  const shown = optionsOf(options);
  const data = isAll ? [{ data: dataOf(coinOf(owner, ledger), shown) }] : [];
  return { result: { data, nextCursor: null, hasNextPage: false } };
}
