/**
 * A relayer's data with some of everything, for tests of exports and imports.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { systemClock } from "../../../shared/clock.ts";
import { readSettings } from "../../../shared/settings.ts";
import { runExport, runImport } from "../../cli/transfer_commands.ts";
import { withFolder } from "../../store/sqlite/testing/open_store.ts";
import { TEST_SERVER } from "../../store/postgres/testing/postgres_subject.ts";
import { openData, type RelayerData } from "../../open_data.ts";
import { addKey, formatSaltText } from "../../receipts/receipt.ts";
import { type RelayerSettings, relayerSettings } from "../../settings.ts";
import {
  describeStore,
  drawCommit,
  toPlain,
} from "../../store/testing/drawn_commits.ts";
import {
  AGENT,
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "../../store/testing/sample_rows.ts";

/** Variables of the environment. */
export type Variables = Readonly<Record<string, string>>;

/** The secret of the master key. */
export const MASTER_SECRET: Uint8Array = Uint8Array.from(
  { length: 32 },
  (_, at) => 7 * at + 3,
);
/** The master key. */
export const MASTER_KEYS = `first:${MASTER_SECRET.toBase64()}`;
/** Stands in each text. */
export const MARK = "peppermint-of-the-harbour-master";

/** Memories with texts. */
const TEXTS = 12;
const OWNERS = [ALICE, BOB];

/** The settings of an environment. */
export function settingsOf(variables: Variables): RelayerSettings {
  const read = readSettings(relayerSettings, (name) => variables[name]);
  assert(read.kind === "ok", JSON.stringify(read));
  return read.values;
}

/** Opens the data of an environment as the relayer does, and uses it. */
export async function withData<Answer>(
  variables: Variables,
  use: (data: RelayerData) => Promise<Answer>,
): Promise<Answer> {
  const data = await openData(settingsOf(variables), {
    clock: systemClock,
    logger: new RecordingLogger(),
  });
  try {
    return await use(data);
  } finally {
    await data.close();
  }
}

/** What a command wrote. */
export interface RunCommand {
  /** Its exit code. */
  readonly code: number;
  /** Standard output. */
  readonly out: string;
  /** Standard error. */
  readonly err: string;
}

/** Runs `relayer export` or `relayer import` in an environment. */
export async function runCommand(
  name: "export" | "import",
  args: readonly string[],
  variables: Variables,
  nowMs: number = SAMPLE_MS,
): Promise<RunCommand> {
  const told = { out: [] as string[], err: [] as string[] };
  const run = name === "export" ? runExport : runImport;
  const code = await run(args, {
    settings: readSettings(relayerSettings, (of) => variables[of]),
    clock: { ...systemClock, nowMs: () => nowMs },
    io: {
      out: (text) => void told.out.push(text),
      err: (text) => void told.err.push(text),
    },
  });
  return { code, out: told.out.join("\n"), err: told.err.join("\n") };
}

/** Some secrets of the data, which must be in no export. */
export interface Secrets {
  /** Seeds of receipt keys and secrets of memories. */
  readonly bytes: readonly Uint8Array[];
}

/** Writes some of everything. */
export async function fillData(
  data: RelayerData,
  { seed, longBytes = 20 }: {
    /** Draws the changes. */
    readonly seed: number;
    /**
     * The bytes of the payloads of some jobs, and of a blob.
     *
     * @default {20}
     */
    readonly longBytes?: number | undefined;
  },
): Promise<Secrets> {
  const { store, local, catalog, blobs } = data;
  const random = new SeededRandom(seed);
  const names = new Map<string, string>();
  const commits = Array.from(
    { length: 60 },
    () => drawCommit(random, { nowMs: SAMPLE_MS, names }),
  );
  await Promise.all(commits.map((changes) => store.commit(changes)));
  const bytes: Uint8Array[] = [];
  const remember = async (at: number): Promise<void> => {
    const owner = OWNERS[at % 2] ?? ALICE;
    const id = `text-${at}`;
    const { bytes: sealed, keyId } = await local.seal(owner, {
      ...{ id, namespace: "default", text: `${MARK} ${at}` },
      ...{ createdAtMs: SAMPLE_MS, agentId: AGENT, importance: 0.5 },
      metadata: { source: MARK },
    });
    const blobId = await blobs.put(sealed);
    const sealedIndex = await local.sealIndex(owner, {
      ...{ model: "test", vector: new Float32Array([1, 2, at]) },
      metadata: { of: MARK },
    });
    const sizeBytes = sealed.length;
    await catalog.add({
      ...{ owner, memoryId: id, namespace: "default", blobId, sizeBytes },
      ...{ createdAtMs: SAMPLE_MS + at, agentId: AGENT },
      ...(at % 3 === 0 ? { sealedIndex, importance: 0.25 } : {}),
      ...(at === 5 ? { supersedes: "text-3" } : {}),
      ...(at === 4 ? { memorySecret: random.bytes(32) } : {}),
    });
    const memory = sampleMemory({
      ...{ owner, id, blobId, keyId, sizeBytes, sealedIndex },
    });
    await store.commit([{ kind: "new_memory", memory }]);
    if (at === 2) await local.destroy(owner, keyId);
  };
  await Promise.all(Array.from({ length: TEXTS }, (_, at) => remember(at)));
  for (let at = 0; at < 3; at++) {
    const job = sampleJob({
      ...{ id: `long-${at}`, payload: random.bytes(longBytes) },
      nextAttemptAtMs: 1,
    });
    await store.commit([{ kind: "new_job", job }]);
  }
  await blobs.put(random.bytes(longBytes));
  await local.keys.putOwnerKey(BOB, {
    ...{ id: "ab".repeat(32), encrypted: random.bytes(300) },
    ...{ publicKey: random.bytes(32), link: undefined },
  });
  await addKey(local.keys, systemClock);
  for (const { seed } of await local.keys.receiptKeys()) {
    bytes.push(seed.slice());
  }
  return { bytes };
}

/** All that can be read, but for snapshots, which are made anew. */
export async function describeData(data: RelayerData): Promise<unknown> {
  const { store, local, catalog, blobs, receipts } = data;
  const owners = await Promise.all(OWNERS.map(async (owner) => {
    const entries = await catalog.list(owner, {
      ...{ namespace: "default", limit: 99 },
    });
    const texts = await Promise.all(entries.map(async ({ blobId }) => {
      const blob = await blobs.get(blobId);
      if (blob.kind !== "ok") return blob;
      const opened = await local.open(owner, blob.bytes);
      return opened.kind === "ok"
        ? [blob.bytes.toHex(), opened.value.text, opened.keyId]
        : [blob.bytes.toHex(), opened.why];
    }));
    const rows = await store.memories(
      owner,
      entries.map((one) => one.memoryId),
    );
    const entriesOfIndex = await Promise.all(
      rows.map((row) => row && local.openIndex(owner, row.sealedIndex)),
    );
    const namespaces = await store.namespaceFeed(owner, { limit: 99 });
    const feed = await store.memoryFeed(owner, { limit: 99 });
    return {
      ...{ entries, texts, entriesOfIndex, namespaces, feed },
      // A client's position is as good as before.
      later: await Promise.all(
        feed.memories.map(async ({ change }) => {
          const page = await store.memoryFeed(owner, {
            ...{ limit: 3, after: { change } },
          });
          return page;
        }),
      ),
      claims: await store.keyClaim(owner, "k1", SAMPLE_MS),
      ownerKeys: await local.keys.ownerKeys(owner),
      digest: await local.digest(owner, formatSaltText("text-1")),
    };
  }));
  return toPlain({
    owners,
    store: await describeStore(store, SAMPLE_MS, ["snapshot", "since", "part"]),
    receiptKeys: await receipts.keys(),
    receipt: receipts.sign({
      ...{ kind: "remember", owner: ALICE, namespace: "default" },
      ...{ memoryId: "text-1", blobId: "b", contentHash: "h" },
      ...{ count: 1, timeMs: 1 },
    }),
  });
}

/** Demands that all memories open but those whose key is destroyed. */
export function demandOpened(description: unknown): void {
  const texts = JSON.stringify(description).match(new RegExp(MARK, "g"));
  assertEquals((texts?.length ?? 0) >= 2 * TEXTS - 1, true);
}

/** Runs a test with a folder, and the environments of data folders in it. */
export async function withFolders(
  use: (of: {
    readonly folder: string;
    readonly at: (name: string) => Variables;
  }) => Promise<void>,
): Promise<void> {
  await withFolder((folder) =>
    use({
      folder,
      at: (name) => ({ DATA_DIR: `${folder}/${name}`, MASTER_KEYS }),
    })
  );
}

/** Runs a test with the environment of a schema as well. */
export async function withSchema(
  use: (of: {
    readonly folder: string;
    readonly at: (name: string) => Variables;
    readonly schema: Variables;
  }) => Promise<void>,
): Promise<void> {
  await withFolders(async ({ folder, at }) => {
    const name = TEST_SERVER.nextSchema();
    try {
      await use({
        ...{ folder, at },
        schema: {
          ...at("ledger"),
          STORE: "postgres",
          DATABASE_URL: TEST_SERVER.url,
          DATABASE_SCHEMA: name,
        },
      });
    } finally {
      await TEST_SERVER.sql(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
    }
  });
}

/** Payloads of which a page has two, and blobs of several rows. */
export const LONG = 2_200_000;

/** Fills the data of an environment, and describes what is there then. */
export async function filled(
  variables: Variables,
  seed = 1,
  longBytes?: number,
): Promise<{ readonly secrets: Secrets; readonly described: unknown }> {
  await Deno.mkdir(variables["DATA_DIR"] ?? "", { recursive: true });
  const secrets = await withData(
    variables,
    (data) => fillData(data, { seed, longBytes }),
  );
  return { secrets, described: await withData(variables, describeData) };
}

/** Exports from one environment to a file, and imports that to another one. */
export async function move(
  from: Variables,
  file: string,
  to: Variables,
): Promise<void> {
  const exported = await runCommand("export", [file], from);
  assertEquals(exported.code, 0, exported.err);
  const imported = await runCommand("import", [file], to);
  assertEquals(imported.code, 0, imported.err);
}

/** The lines between the first and the last. */
export async function linesOf(file: string): Promise<readonly string[]> {
  return (await Deno.readTextFile(file)).trimEnd().split("\n").slice(1, -1);
}
