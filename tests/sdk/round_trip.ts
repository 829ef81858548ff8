/**
 * A program that uses the SDK as an application does, in any JavaScript
 * runtime. It also runs in Node, Bun and browsers: it uses nothing of Deno and
 * imports only types.
 *
 * @module
 */

import type { Mem as MemClient } from "../../mod.ts";

/** The part of the SDK that the program uses. */
export interface SdkModule {
  /** The client class. */
  readonly Mem: typeof MemClient;
}

/** The relayer and the credentials of the program. */
export interface RoundTripOptions {
  /** The URL of the relayer. */
  readonly serverUrl: string;
  /** The delegate's private key, in hexadecimal. */
  readonly key: string;
  /** The id of the account. */
  readonly accountId: string;
  /** The private key of a key pair that does not belong to the account. */
  readonly strangerKey: string;
}

/** The results of the program. */
export interface RoundTripReport {
  /** The status that the relayer reports. */
  readonly health: string;
  /** The public key with which requests are signed. */
  readonly publicKey: string;
  /** Whether the job that was awaited is the one that was started. */
  readonly isSameJob: boolean;
  /** The texts that recall finds after the first text was remembered. */
  readonly found: readonly string[];
  /** The texts that recall finds with a filter. */
  readonly filtered: readonly string[];
  /** Number of texts that a bulk request stored. */
  readonly bulk: number;
  /**
   * Number of memories in a list; its request is signed together with its
   * query.
   */
  readonly listed: number;
  /** The texts that recall finds after the first memory was deleted. */
  readonly left: readonly string[];
  /**
   * The status and the reason with which a call with the other key was refused.
   */
  readonly refusal: readonly [unknown, unknown];
  /** How the calls that were under way when the client was destroyed ended. */
  readonly destroyed: readonly string[];
  /**
   * The client as JSON, as a string and as the members that it spreads to, in
   * which no key may appear.
   */
  readonly appearance: readonly string[];
}

const NAMESPACE = "habits";

/** Remembers, waits, recalls, lists, deletes, and destroys the client. */
export async function roundTrip(
  sdk: SdkModule,
  options: RoundTripOptions,
): Promise<RoundTripReport> {
  const { strangerKey, ...who } = options;
  const mem = sdk.Mem.create({ ...who, namespace: NAMESPACE });
  const { status: health } = await mem.health();
  const { job_id } = await mem.remember("Ada drinks tea", {
    metadata: { person: "Ada", cups: 3 },
  });
  const { id } = await mem.waitForRememberJob(job_id);
  const found = await recallTexts(mem, { query: "What does Ada drink?" });
  const bulk = await mem.rememberBulkAndWait([
    { text: "Grace drinks coffee", metadata: { person: "Grace" } },
    { text: "Zoë isst Brötchen 🥐 zum Frühstück" },
  ]);
  const filtered = await recallTexts(mem, {
    query: "Who drinks what?",
    filter: { person: "Ada" },
  });
  const { memories } = await mem.listMemories({
    namespace: NAMESPACE,
    limit: 50,
  });
  await mem.deleteMemory(id);
  return {
    health,
    publicKey: await mem.getPublicKeyHex(),
    isSameJob: id === job_id,
    found,
    filtered,
    bulk: bulk.succeeded,
    listed: memories.length,
    left: await recallTexts(mem, { query: "Ada, Grace, Zoë" }),
    refusal: await provokeRefusal(
      sdk.Mem.create({ ...who, key: strangerKey, namespace: NAMESPACE }),
    ),
    appearance: [
      JSON.stringify(mem),
      String(mem),
      JSON.stringify({ ...mem }),
      Object.getOwnPropertyNames(mem).join(),
    ],
    destroyed: await destroyedCalls(mem),
  };
}

async function recallTexts(
  mem: MemClient,
  params: {
    readonly query: string;
    readonly filter?: Readonly<Record<string, string>>;
  },
): Promise<readonly string[]> {
  const { results } = await mem.recall(params);
  return results.map(({ text }) => text).sort();
}

async function provokeRefusal(
  stranger: MemClient,
): Promise<readonly [unknown, unknown]> {
  try {
    await stranger.recall({ query: "What does Ada drink?" });
    return ["not refused", ""];
  } catch (error) {
    const refused = Object(error);
    return [Reflect.get(refused, "status"), Reflect.get(refused, "authError")];
  } finally {
    stranger.destroy();
  }
}

/**
 * Destroys the client with calls under way; none of them may end as an
 * unhandled rejection.
 */
async function destroyedCalls(mem: MemClient): Promise<readonly string[]> {
  const underWay = [
    mem.recall({ query: "tea" }),
    mem.rememberAndWait("too late"),
    mem.listNamespaces(),
  ];
  mem.destroy();
  const ends = await Promise.allSettled([...underWay, mem.stats()]);
  return ends.map((end) =>
    end.status === "fulfilled"
      ? "fulfilled"
      : String(Reflect.get(Object(end.reason), "name"))
  );
}
