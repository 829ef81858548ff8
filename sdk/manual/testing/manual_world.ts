/**
 * Everything that a client which encrypts for itself talks to, in one process:
 * a relayer that stores what it is sent, a ledger with one account, and key
 * servers.
 *
 * @module
 */

import {
  decodeBase64,
  encodeBase64,
  encodeHex,
} from "../../memory/encodings.ts";
import { delegateKeyToSuiAddress } from "../../memory/private_key.ts";
import { STUB_VERSION } from "../../memory/testing/stub_relayer.ts";
import { BcsWriter } from "../../vault/bcs.ts";
import type { KeyServer } from "../../vault/key_server_client.ts";
import { TestKeyServers } from "../../vault/testing/key_servers.ts";
import type { MemManualConfig } from "../manual_config.ts";
import { deriveLocalAccountId, identityFault } from "../memory_identity.ts";

/** A memory as the relayer of a test keeps it. */
export interface StoredMemory {
  /** Its id. */
  readonly id: string;
  /** Its namespace. */
  readonly namespace: string;
  /** The vector it was given. */
  readonly vector: readonly number[];
  /** The encrypted bytes; undefined when they are gone. */
  bytes: Uint8Array | undefined;
}

/** Addresses of the relayer and of the ledger. */
const RELAYER = "http://relayer.test";
const LEDGER = "http://ledger.test";
const AGGREGATOR = "http://blobs.test";
/** The private key of the delegate that the tests' clients use. */
export const DELEGATE_KEY = "09".repeat(32);
/** The owner's key. */
export const OWNER_KEY = "07".repeat(32);
/** The package of the account. */
export const PACKAGE_ID = `0x${"5a".repeat(32)}`;

/** Words that vectors are made of: one dimension for each. */
const WORDS = ["tea", "coffee", "london", "piano"] as const;

/** Returns a vector that says which of the words `WORDS` a text contains. */
export function wordVector(text: string): readonly number[] {
  const lower = text.toLowerCase();
  return [...WORDS.map((word) => lower.includes(word) ? 1 : 0), 0.1];
}

/** The relayer, ledger and key servers that a client under test talks to. */
export class ManualWorld {
  /** The memories that the relayer stores. */
  readonly memories: StoredMemory[] = [];
  /** Every request's URL and body, except requests to key servers. */
  readonly seen: string[] = [];
  /** The key servers. */
  readonly keyServers: TestKeyServers;
  /** The account. */
  readonly accountId: string;
  /** The ledger's data of the account, which tests change. */
  readonly account: {
    owner: string;
    active: boolean;
    accessCounter: bigint;
    delegates: string[];
  };
  /** The relayer's answer to `/config`; tests change it. */
  readonly config: Record<string, unknown>;
  /** Key servers that are committees behind an aggregator, by object id. */
  readonly committees = new Set<string>();
  /** Whether recalls return blobs with the memories; older relayers do not. */
  isGivingData = true;
  /** Whether the ledger cannot be reached. */
  isLedgerAway = false;

  private constructor(
    accountId: string,
    { owner, delegate, nowMs }: {
      readonly owner: string;
      readonly delegate: string;
      readonly nowMs: () => number;
    },
  ) {
    this.accountId = accountId;
    this.account = {
      owner,
      active: true,
      accessCounter: 0n,
      delegates: [delegate],
    };
    this.keyServers = new TestKeyServers({
      packageId: PACKAGE_ID,
      count: 3,
      nowMs,
      mayHave: ({ user, id, objectIds }) => this.#mayHave(user, id, objectIds),
    });
    this.config = {
      packageId: PACKAGE_ID,
      network: "localnet",
      suiRpcUrl: LEDGER,
      suiTransport: "jsonrpc",
      keyServers: this.keyServers.keyServers.map(({ objectId, url }) => ({
        objectId,
        url,
        weight: 1,
      })),
    };
  }

  /** Creates the relayer, the ledger and the key servers. */
  static async open(nowMs: () => number = Date.now): Promise<ManualWorld> {
    const owner = await delegateKeyToSuiAddress(OWNER_KEY);
    const delegate = await delegateKeyToSuiAddress(DELEGATE_KEY);
    const accountId = await deriveLocalAccountId(PACKAGE_ID, owner);
    return new ManualWorld(accountId, { owner, delegate, nowMs });
  }

  /** The configuration of a client that uses the delegate's key. */
  clientConfig(more: Partial<MemManualConfig> = {}): MemManualConfig {
    return {
      key: DELEGATE_KEY,
      accountId: this.accountId,
      serverUrl: RELAYER,
      ledgerNetwork: "localnet",
      keyServers: this.keyServers.keyServers.map(({ objectId }) => objectId),
      embed: wordVector,
      fetch: this.fetch,
      ...more,
    };
  }

  /**
   * Stores a blob in the relayer as it is, as a relayer that breaks the rules
   * would.
   */
  store(bytes: Uint8Array, text: string, namespace = "default"): void {
    const id = `m${this.memories.length + 1}`;
    this.memories.push({ id, namespace, vector: wordVector(text), bytes });
  }

  /** Answers every request of the client. */
  readonly fetch = async (
    input: string,
    init: RequestInit,
  ): Promise<Response> => {
    const url = new URL(input);
    if (url.hostname.startsWith("key-server")) {
      return await this.keyServers.fetch(input, init);
    }
    const text = init.body === undefined || init.body === null
      ? ""
      : await new Response(init.body).text();
    this.seen.push(`${input} ${text}`);
    switch (url.origin) {
      case RELAYER:
        return this.#relayer(url, text);
      case LEDGER:
        if (this.isLedgerAway) throw new TypeError("connection refused");
        return this.#ledger(JSON.parse(text));
      case AGGREGATOR:
        return this.#aggregator(url);
      default:
        throw new TypeError("no such host");
    }
  };

  #mayHave(
    user: string,
    id: Uint8Array,
    objectIds: readonly string[],
  ): boolean {
    const { active, owner, delegates, accessCounter } = this.account;
    const names = new Set(this.memories.map(({ namespace }) => namespace));
    const isOfAccount = [...names].some((namespace) => {
      const account = { owner, accessCounter };
      return identityFault(id, { namespace, account }) === undefined;
    });
    return active && isOfAccount &&
      objectIds.includes(this.accountId) &&
      [owner, ...delegates].includes(user);
  }

  #relayer(url: URL, text: string): Response {
    switch (url.pathname) {
      case "/version":
        return Response.json(STUB_VERSION);
      case "/config":
        return Response.json(this.config);
      case "/api/remember/manual": {
        const { encrypted_data, vector, namespace } = JSON.parse(text);
        const bytes = decodeBase64(encrypted_data, { maxBytes: 1_000_000 });
        const id = `m${this.memories.length + 1}`;
        this.memories.push({ id, namespace, vector, bytes });
        const { owner } = this.account;
        return Response.json({ id, blob_id: `b-${id}`, owner, namespace });
      }
      case "/api/recall/manual":
        return Response.json(this.#recall(JSON.parse(text)));
    }
    const id = /^\/api\/memories\/(\w+)\/blob$/.exec(url.pathname)?.[1];
    const bytes = this.memories.find((memory) => memory.id === id)?.bytes;
    return bytes === undefined
      ? Response.json({ error: "none" }, { status: 404 })
      : Response.json({ memory_id: id, data: encodeBase64(bytes) });
  }

  #recall(
    { vector, limit, namespace, include_data }: {
      readonly include_data?: boolean | undefined;
      readonly vector: readonly number[];
      readonly limit: number;
      readonly namespace: string;
    },
  ): unknown {
    const results = this.memories.filter((one) => one.namespace === namespace)
      .map((memory) => ({
        id: memory.id,
        blob_id: `b-${memory.id}`,
        distance: 1 - cosine(vector, memory.vector),
        created_at: "2026-07-01T00:00:00.000Z",
        importance: null,
        encrypted_data: include_data === true && this.isGivingData
          ? memory.bytes && encodeBase64(memory.bytes)
          : undefined,
      })).sort((left, right) => left.distance - right.distance)
      .slice(0, limit);
    return { results, total: results.length };
  }

  #aggregator(url: URL): Response {
    const id = /^\/v1\/blobs\/b-(\w+)$/.exec(url.pathname)?.[1];
    const bytes = this.memories.find((memory) => memory.id === id)?.bytes;
    return bytes === undefined
      ? new Response("none", { status: 404 })
      : new Response(Uint8Array.from(bytes));
  }

  #ledger(
    { id, method, params }: {
      readonly id: number;
      readonly method: string;
      readonly params: readonly unknown[];
    },
  ): Response {
    const objectId = String(params[0]);
    const server = this.keyServers.keyServers.find((one) =>
      one.objectId === objectId
    );
    const data = server === undefined
      ? objectId === this.accountId ? this.#accountData() : null
      : keyServerData(server, {
        method,
        isCommittee: this.committees.has(objectId),
      });
    return Response.json({ jsonrpc: "2.0", id, result: { data } });
  }

  #accountData(): unknown {
    const { owner, active, accessCounter, delegates } = this.account;
    return {
      owner: { Shared: { initial_shared_version: 1 } },
      content: {
        type: `${PACKAGE_ID}::account::MemWalAccount`,
        fields: {
          owner,
          active,
          access_counter_version: String(accessCounter),
          delegate_keys: delegates.map((address) => ({
            fields: { sui_address: address },
          })),
        },
      },
    };
  }
}

/** Whether a text occurs in any request, as it is or in a simple encoding. */
export function isSeen(world: ManualWorld, text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  const forms = [text, encodeHex(bytes), encodeBase64(bytes)];
  return world.seen.some((one) => forms.some((form) => one.includes(form)));
}

function keyServerData(
  { objectId, publicKey, url }: KeyServer,
  { method, isCommittee }: {
    readonly method: string;
    readonly isCommittee: boolean;
  },
): unknown {
  const writer = new BcsWriter().address(objectId);
  if (method === "sui_getObject") writer.u64(1n).u64(2n);
  else {
    writer.u64(2n).string("test").u8(0).byteVector(publicKey);
    // The threshold and the members of a committee are known to its aggregator
    // alone.
    if (isCommittee) writer.length(1).u32(1).u16(2).length(0);
    else writer.length(0).string(url);
  }
  return { bcs: { bcsBytes: encodeBase64(writer.toBytes()) } };
}

function cosine(left: readonly number[], right: readonly number[]): number {
  const dot = left.reduce(
    (sum, value, at) => sum + value * (right[at] ?? 0),
    0,
  );
  return dot / (Math.hypot(...left) * Math.hypot(...right));
}
