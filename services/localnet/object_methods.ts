/**
 * JSON-RPC methods that read objects, their entries, and coins.
 *
 * @module
 */

import { addressBytes, BcsWriter } from "../../sdk/vault/bcs.ts";
import { keyServerObject } from "../relayer/ledger/key_server_objects.ts";
import type { LocalLedger } from "../relayer/ledger/local_ledger.ts";
import {
  accountObject,
  COIN_BALANCE,
  coinObject,
  createObject,
  deriveEntryId,
  GAS_TYPE,
  genesisDigest,
  type MoveObject,
  registryEntryObject,
  registryObject,
} from "../relayer/ledger/move_objects.ts";
import { u64 } from "../relayer/ledger/move_value.ts";
import {
  CLOCK_ID,
  deriveRegistryId,
} from "../shared/ledger/account_contract.ts";
import { encodeBase58 } from "../shared/ledger/digest.ts";
import { firstGasCoin } from "../shared/ledger/gas_chain.ts";
import { ownerView } from "./effects_view.ts";
import {
  ANY,
  badParams,
  ID,
  type Json,
  list,
  method,
  OPTIONS,
  readId,
  type RpcMethod,
  shownParts,
} from "./rpc_method.ts";

/** Options that show everything of an entry. */
const SHOW_ALL: Json = {
  showType: true,
  showOwner: true,
  showContent: true,
  showBcs: true,
  showPreviousTransaction: true,
};

/** The methods, by name. */
export const OBJECT_METHODS: Readonly<Record<string, RpcMethod>> = {
  sui_getObject: method({
    params: [ID, OPTIONS],
    reads: 1,
    answer: ([objectId, shown], { ledger }) =>
      read(objectId, { ledger, shown }),
  }),
  sui_multiGetObjects: method({
    params: [list("an object's id is hexadecimal"), OPTIONS],
    reads: ([ids]) => ids.length,
    answer: ([ids, shown], { ledger }) =>
      ids.map(ID).map((objectId) => read(objectId, { ledger, shown })),
  }),
  suix_getDynamicFieldObject: method({
    params: [ID, OPTIONS],
    reads: 1,
    answer([parentId, name], { ledger }) {
      const object = findObject(findEntry(parentId, name), ledger);
      return object === undefined
        ? {
          error: { code: "dynamicFieldNotFound", parent_object_id: parentId },
        }
        : { data: renderObject(object, SHOW_ALL) };
    },
  }),
  /** Lists what an address owns: its coin and nothing else. */
  suix_getOwnedObjects: method({
    params: [ID, OPTIONS],
    reads: 1,
    answer([owner, { filter, options }], { ledger }) {
      const isAll = filter === undefined || filter === null;
      const shown = OPTIONS(options);
      const coin = () => renderObject(buildCoin(owner, ledger), shown);
      return onePage(isAll ? [{ data: coin() }] : []);
    },
  }),
  suix_getCoins: method({
    params: [ID, ANY],
    reads: 1,
    answer: ([owner, coinType], { ledger }) =>
      onePage(isGas(coinType) ? [coinData(owner, ledger)] : []),
  }),
  suix_getAllCoins: method({
    params: [ID],
    reads: 1,
    answer: ([owner], { ledger }) => onePage([coinData(owner, ledger)]),
  }),
  suix_getBalance: method({
    params: [ID, ANY],
    answer: ([, coinType]) => describeBalance(coinType),
  }),
  suix_getAllBalances: method({
    params: [ID],
    answer: () => [describeBalance(undefined)],
  }),
};

/** A list that has no further page. */
function onePage(data: readonly unknown[]): Json {
  return { data, nextCursor: null, hasNextPage: false };
}

/** The id of an entry below an object. */
function findEntry(parentId: string, { type, value }: Json): string {
  if (type === "address") {
    const address = readId(value);
    if (address !== undefined) {
      return deriveEntryId(parentId, { type, bytes: addressBytes(address) });
    }
  }
  if (type === "u64" && /^\d{1,19}$/.test(String(value))) {
    const bytes = new BcsWriter().u64(BigInt(String(value))).toBytes();
    return deriveEntryId(parentId, { type, bytes });
  }
  return badParams("an entry's name is an address or a u64, with its type");
}

/** Finds an object of the ledger; the package is not an object here. */
function findObject(
  objectId: string,
  ledger: LocalLedger,
): MoveObject | undefined {
  const { packageId, rows, log } = ledger;
  if (objectId === CLOCK_ID) {
    return createObject({
      objectId,
      type: "0x2::clock::Clock",
      fields: { timestamp_ms: u64(log.nextTimeMs()) },
      changedBy: genesisDigest(packageId),
    });
  }
  if (objectId === deriveRegistryId(packageId)) {
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
): Json {
  if (objectId === ledger.packageId) {
    return { data: packageData(objectId, shown) };
  }
  const object = findObject(objectId, ledger);
  return object === undefined
    ? { error: { code: "notExists", object_id: objectId } }
    : { data: renderObject(object, shown) };
}

/** Shows an object with the parts that the options ask for. */
function renderObject(object: MoveObject, shown: Json): Json {
  const { objectId, version, digest, type, hasPublicTransfer } = object;
  const common = { dataType: "moveObject", type, hasPublicTransfer };
  return {
    ...{ objectId, version: String(version), digest },
    ...shownParts(shown, {
      type: () => type,
      owner: () => ownerView(object.owner),
      previousTransaction: () => object.previousTransaction,
      storageRebate: () => "0",
      content: () => ({ ...common, fields: object.fields }),
      bcs: () => ({
        ...common,
        version: Number(version),
        bcsBytes: object.contents.toBase64(),
      }),
    }),
  };
}

/** Clients would take a package of any other version for an upgraded one. */
const PACKAGE_VERSION = "1";

function packageData(packageId: string, shown: Json): Json {
  const digest = encodeBase58(genesisDigest(packageId));
  return {
    ...{ objectId: packageId, version: PACKAGE_VERSION, digest },
    ...shownParts(shown, {
      type: () => "package",
      owner: () => "Immutable",
      previousTransaction: () => digest,
      storageRebate: () => "0",
      content: () => ({ dataType: "package", disassembled: {} }),
      bcs: () => ({
        dataType: "package",
        id: packageId,
        version: Number(PACKAGE_VERSION),
        moduleMap: {},
        typeOriginTable: [],
        linkageTable: {},
      }),
    }),
  };
}

/** The one coin of an address. */
function buildCoin(
  address: string,
  { rows, packageId }: LocalLedger,
): MoveObject {
  const unused = {
    address,
    coin: firstGasCoin(address),
    lastDigest: genesisDigest(packageId),
  };
  return coinObject(rows.sender(address) ?? unused);
}

/** Whether a call about coins asks for the ledger's currency. */
function isGas(coinType: unknown): boolean {
  if (coinType === undefined || coinType === null) return true;
  const [id = "", ...name] = String(coinType).split("::");
  return readId(id) === readId("0x2") && name.join("::") === "sui::SUI";
}

function coinData(owner: string, ledger: LocalLedger): Json {
  const { objectId, version, ...coin } = buildCoin(owner, ledger);
  return {
    coinType: GAS_TYPE,
    coinObjectId: objectId,
    version: String(version),
    digest: coin.digest,
    balance: String(COIN_BALANCE),
    previousTransaction: coin.previousTransaction,
  };
}

function describeBalance(coinType: unknown): Json {
  const isOurs = isGas(coinType);
  return {
    coinType: isOurs ? GAS_TYPE : coinType,
    coinObjectCount: isOurs ? 1 : 0,
    totalBalance: isOurs ? String(COIN_BALANCE) : "0",
    lockedBalance: {},
    fundsInAddressBalance: "0",
  };
}
