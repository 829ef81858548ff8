/**
 * What an application does with the SDK, in any runtime. It runs in Node, Bun and
 * browsers too: nothing here is of Deno, and nothing is imported but types.
 *
 * @module
 */

import type { Mem as MemClient } from "../../mod.ts";

/** The part of the SDK that is tried. */
export interface SdkModule {
  /** The client. */
  readonly Mem: typeof MemClient;
}

/** Who calls, and whom. */
export interface RoundTripOptions {
  /** Where the relayer is. */
  readonly serverUrl: string;
  /** The delegate's private key, hexadecimal. */
  readonly key: string;
  /** The account. */
  readonly accountId: string;
  /** A private key that the account does not have. */
  readonly strangerKey: string;
}

/** What came of it. */
export interface RoundTripReport {
  /** State of the relayer. */
  readonly health: string;
  /** The public key that signed. */
  readonly publicKey: string;
  /** Whether the job that was waited for is the one that was begun. */
  readonly isSameJob: boolean;
  /** The texts that a recall finds after the first was remembered. */
  readonly found: readonly string[];
  /** The texts that a filter leaves. */
  readonly filtered: readonly string[];
  /** How many of several texts were stored. */
  readonly bulk: number;
  /** How many memories a listing, signed with its query, has. */
  readonly listed: number;
  /** The texts that a recall finds after the first was deleted. */
  readonly left: readonly string[];
  /** What a stranger's call was refused with: status and reason. */
  readonly refusal: readonly [unknown, unknown];
  /** How calls that were under way when the client was destroyed ended. */
  readonly destroyed: readonly string[];
  /** What the client looks like as JSON and to `String`, and what it spreads to. */
  readonly appearance: readonly string[];
}

const NAMESPACE = "habits";

/** Remembers, waits, recalls, lists, deletes, and ends the client. */
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
  const found = await textsOf(mem, { query: "What does Ada drink?" });
  const bulk = await mem.rememberBulkAndWait([
    { text: "Grace drinks coffee", metadata: { person: "Grace" } },
    { text: "Zoë isst Brötchen 🥐 zum Frühstück" },
  ]);
  const filtered = await textsOf(mem, {
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
    left: await textsOf(mem, { query: "Ada, Grace, Zoë" }),
    refusal: await refusalOf(
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

async function textsOf(
  mem: MemClient,
  params: {
    readonly query: string;
    readonly filter?: Readonly<Record<string, string>>;
  },
): Promise<readonly string[]> {
  const { results } = await mem.recall(params);
  return results.map(({ text }) => text).sort();
}

async function refusalOf(
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

/** Nobody waits for the first of them: its end must bother nobody. */
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
