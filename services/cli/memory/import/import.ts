/**
 * `tercet memory import`: remembers what people have elsewhere: conversations
 * with Claude and ChatGPT, memories of other stores, notes in Markdown.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { Mem } from "../../../../mod.ts";
import {
  type CommandShape,
  readCommand,
} from "../../../shared/command_line.ts";
import { switchOption, textOption } from "../../../shared/options.ts";
import { describeError } from "../../../shared/settled.ts";
import type { CliIo } from "../../tasks/connection.ts";
import { CONNECTION, patiently, shownText, withMemory } from "../connection.ts";
import { ImportJournal } from "./journal.ts";
import { type ImportPart, toParts } from "./parts.ts";
import { readSource } from "./sources.ts";

const FLAGS = {
  ...CONNECTION,
  extract: switchOption({
    help:
      "Remember the facts that are found in conversations, in place of the " +
      "texts themselves.",
  }),
  whole: switchOption({
    help: "Also remember what assistants have said, not only their users.",
  }),
  dryRun: switchOption({
    help: "Only show what would be remembered; needs no relayer.",
  }),
  journal: textOption({
    help: "File that notes what was imported. Default: the name of what is " +
      "imported, with .imported.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet memory import FILE|FOLDER",
  about:
    "Remembers conversations.json of a Claude or ChatGPT export, memories " +
    "that mem0, MemWal or tercet memory export has written as JSON, or a " +
    "folder of Markdown. A journal notes imported texts, so that the same input " +
    "twice stores nothing twice, and a run that was stopped goes on. Exit " +
    "codes: 0 success, 1 the input cannot be read, refused or no answer, 2 " +
    "invalid arguments.",
  positionals: 1,
};

/** Most texts and bytes of one request. */
const BATCH_TEXTS = 20;
const BATCH_BYTES = 512_000;
/** How many parts a dry run shows. */
const SHOWN_PARTS = 10;
const SHOWN_CHARS = 100;

/** Runs the command; returns the exit code. */
export async function runImport(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [path = ""] } = read;
  const { extract: isExtracting, whole: isWhole, dryRun } = values;
  const count = new ImportCount();
  const parts = (target: string) =>
    readParts(path, { isExtracting, isWhole, target, count, io });
  return await reading(io, async () => {
    if (dryRun) return await showParts(parts(""), { io, count });
    return await withMemory(values, { io, command: COMMAND }, async (mem) => {
      const { account_id: account } = await mem.whoami();
      const target = JSON.stringify([account, mem.namespace]);
      const journalPath = values.journal ??
        `${path.replace(/[/\\]+$/, "")}.imported`;
      const journal = await ImportJournal.open(journalPath);
      try {
        await sendParts(parts(target), {
          ...{ mem, io, journal, count },
          isExtracting,
        });
      } finally {
        journal.close();
      }
      io.progress?.("");
      io.err(count.describe());
      return 0;
    });
  });
}

/** Runs an import; on an input that cannot be read writes why, returns 1. */
async function reading(
  io: CliIo,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    // Errors of the input and its journal are plain; others are faults of this
    // program, and show their stack.
    if (!(error instanceof Error) || !error.message.startsWith("Cannot ")) {
      throw error;
    }
    io.progress?.("");
    io.err(describeError(error));
    return 1;
  }
}

/** What an import has done so far. */
class ImportCount {
  /** Parts that were sent, and accepted. */
  sent = 0;
  /** Facts that were found. */
  facts = 0;
  /** Parts that were imported before. */
  known = 0;
  /** Values of no known format. */
  strange = 0;

  /** Describes it in one line. */
  describe(): string {
    const facts = this.facts === 0 ? "" : `, with ${this.facts} facts`;
    const known = this.known === 0 ? "" : `, ${this.known} were before`;
    const strange = this.strange === 0
      ? ""
      : `; ${this.strange} values are of no known format`;
    return `${this.sent} texts are imported${facts}${known}${strange}`;
  }
}

async function* readParts(
  path: string,
  { count, io, ...options }: {
    readonly isExtracting: boolean;
    readonly isWhole: boolean;
    readonly target: string;
    readonly count: ImportCount;
    readonly io: CliIo;
  },
): AsyncGenerator<ImportPart> {
  for await (const { record, format, share } of readSource(path)) {
    if (record === undefined) {
      count.strange++;
      continue;
    }
    yield* toParts(record, { ...options, format });
    const percent = share === undefined ? "" : `${Math.floor(share * 100)} %, `;
    io.progress?.(`${percent}${count.sent} texts, ${count.known} before`);
  }
}

async function showParts(
  parts: AsyncIterable<ImportPart>,
  { io, count }: { readonly io: CliIo; readonly count: ImportCount },
): Promise<number> {
  let found = 0;
  for await (const { text, metadata } of parts) {
    if (++found > SHOWN_PARTS) continue;
    const line = shownText(text.slice(0, 2 * SHOWN_CHARS));
    const shown = line.length > SHOWN_CHARS
      ? `${line.slice(0, SHOWN_CHARS - 1)}…`
      : line;
    io.out(`${metadata["at"] ?? "-"}  ${shown}`);
  }
  io.progress?.("");
  if (found > SHOWN_PARTS) io.out(`… and ${found - SHOWN_PARTS} more`);
  const strange = count.strange === 0
    ? ""
    : `; ${count.strange} values are of no known format`;
  io.err(`${found} texts would be imported${strange}`);
  return 0;
}

interface Sending {
  readonly mem: Mem;
  readonly io: CliIo;
  readonly journal: ImportJournal;
  readonly count: ImportCount;
  readonly isExtracting: boolean;
}

/** Sends parts that were not imported before; notes each that is accepted. */
async function sendParts(
  parts: AsyncIterable<ImportPart>,
  sending: Sending,
): Promise<void> {
  const { journal, count, isExtracting } = sending;
  let batch: ImportPart[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await sendBatch(batch, sending);
    [batch, bytes] = [[], 0];
  };
  // Parts of this run are noted at the end of their batch.
  const seen = new Set<string>();
  for await (const part of parts) {
    if (journal.has(part.hash) || seen.has(part.hash)) {
      count.known++;
      continue;
    }
    if (isExtracting) {
      await sendTalk(part, sending);
      continue;
    }
    const size = Buffer.byteLength(part.text);
    if (batch.length === BATCH_TEXTS || bytes + size > BATCH_BYTES) {
      await flush();
      seen.clear();
    }
    seen.add(part.hash);
    batch.push(part);
    bytes += size;
  }
  await flush();
}

/**
 * Sends texts in one request. A run that is stopped before it has noted them
 * sends the same batch again next time, whose key makes it the same request.
 */
async function sendBatch(
  batch: readonly ImportPart[],
  { mem, io, journal, count }: Sending,
): Promise<void> {
  const hashes = batch.map(({ hash }) => hash);
  const idempotencyKey = `import-${
    createHash("sha256").update(hashes.join()).digest("base64url")
  }`;
  const items = batch.map(({ text, metadata, importance }) => ({
    ...{ text, metadata, importance, namespace: mem.namespace },
  }));
  await patiently(() => mem.rememberBulk(items, { idempotencyKey }), io);
  await journal.add(hashes);
  count.sent += batch.length;
}

/** Sends a part of a conversation, in which the relayer finds facts. */
async function sendTalk(
  { hash, text, atMs }: ImportPart,
  { mem, io, journal, count }: Sending,
): Promise<void> {
  const { facts } = await patiently(
    () =>
      mem.analyze(text, {
        ...(atMs === undefined ? {} : { occurredAt: new Date(atMs) }),
      }),
    io,
  );
  await journal.add([hash]);
  count.sent++;
  count.facts += facts.length;
}
