/**
 * `tercet memory export`: writes memories with their texts as JSON lines, in
 * the order of their changes. A line with a cursor follows each page, and an
 * export goes on behind it.
 *
 * @module
 */

import type { Mem, MemoryEntry, RecallMemory } from "../../../mod.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { describeError } from "../../shared/settled.ts";
import type { CliIo } from "../tasks/connection.ts";
import { CONNECTION, patiently, withMemory } from "./connection.ts";
import { ExportFile } from "./export_file.ts";

const FLAGS = {
  ...CONNECTION,
  all: switchOption({ help: "Export memories of all namespaces." }),
  file: textOption({
    help: "Append to this file, behind the last whole page that it has; only " +
      "its owner may read it. Default: standard output.",
  }),
  after: textOption({
    help: "Begin behind this cursor, of a line that was written before.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet memory export",
  about:
    "Writes memories with text, times and namespace as JSON, one a line. " +
    "Run again with the same --file, it goes on where it ended, and adds what " +
    "has changed since: the last line of an id counts, and deleted_at tells " +
    "that it is gone. Exit codes: 0 success, 1 refused or no answer, 2 " +
    "invalid arguments.",
};

/** Most memories of a recall by ids. */
const PAGE = 100;

/** Where lines go. */
interface LineSink {
  /** Writes whole lines; they are kept when this resolves. */
  write(lines: readonly string[]): Promise<void>;
}

/** Runs the command; returns the exit code. */
export async function runExport(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const { file: path, after, all } = values;
  if (path !== undefined && after !== undefined) {
    const fault = "Cannot use --after: --file has its own cursor";
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  return await withMemory(values, { io, command: COMMAND }, async (mem) => {
    const namespace = all ? undefined : mem.namespace;
    if (path === undefined) {
      const sink: LineSink = {
        write: (lines) =>
          Promise.resolve(lines.forEach((line) => io.out(line))),
      };
      return await exportMemories(mem, { io, sink, namespace, after });
    }
    let file: ExportFile;
    try {
      file = await ExportFile.open(path);
    } catch (error) {
      io.err(describeError(error));
      return 1;
    }
    try {
      return await exportMemories(mem, {
        ...{ io, sink: file, namespace, after: file.cursor },
      });
    } finally {
      file.close();
    }
  });
}

/** Writes page after page; returns the exit code. */
async function exportMemories(
  mem: Mem,
  { io, sink, namespace, after }: {
    readonly io: CliIo;
    readonly sink: LineSink;
    readonly namespace: string | undefined;
    readonly after: string | undefined;
  },
): Promise<number> {
  let cursor = after;
  let [written, textless] = [0, 0];
  for (;;) {
    const page = await patiently(
      () => mem.listMemories({ cursor, namespace, limit: PAGE }),
      io,
    );
    if (page.must_resync) {
      io.err(
        "Cannot go on behind the cursor: it is too old; export again from the " +
          "start, to another file",
      );
      return 1;
    }
    const texts = await readTexts(mem, { io, entries: page.memories });
    const lines = [
      ...page.memories.map((entry) => toLine(entry, texts)),
      ...page.deleted.map(({ memory_id: id, namespace_id, deleted_at }) => ({
        ...{ id, namespace: namespace_id, deleted_at },
      })),
    ];
    const next = page.next_cursor ?? undefined;
    if (next !== undefined && next !== cursor) {
      await sink.write(
        [...lines, { cursor: next }].map((line) => JSON.stringify(line)),
      );
    }
    written += page.memories.length;
    textless += page.memories.filter(({ memory_id: id }) => !texts.has(id))
      .length;
    io.progress?.(`${written} memories`);
    if (!page.has_more || next === undefined) break;
    cursor = next;
  }
  io.progress?.("");
  const without = textless === 0
    ? ""
    : `, ${textless} of them without text, since they are superseded or only ` +
      "their client can open them";
  io.err(`${written} memories are written${without}`);
  return 0;
}

/** The line of a memory; `text` is null where the relayer gives none. */
function toLine(
  entry: MemoryEntry,
  texts: ReadonlyMap<string, RecallMemory>,
): Readonly<Record<string, unknown>> {
  const memory = texts.get(entry.memory_id);
  return {
    id: entry.memory_id,
    namespace: entry.namespace_id,
    text: memory?.text ?? null,
    created_at: entry.created_at,
    updated_at: entry.updated_at,
    importance: entry.importance,
    metadata: memory?.metadata,
    status: entry.status,
    supersedes: entry.supersedes,
    superseded_by: entry.superseded_by,
  };
}

/**
 * Reads the texts of memories by their ids. An answer has a bound of bytes and
 * names the memories that did not fit, which are read next.
 */
async function readTexts(
  mem: Mem,
  { io, entries }: {
    readonly io: CliIo;
    readonly entries: readonly MemoryEntry[];
  },
): Promise<ReadonlyMap<string, RecallMemory>> {
  const texts = new Map<string, RecallMemory>();
  const byNamespace = Map.groupBy(
    entries.filter(({ status }) => status === "active"),
    ({ namespace_id: name }) => name,
  );
  for (const [namespace, members] of byNamespace) {
    let ids: readonly string[] = members.map(({ memory_id: id }) => id);
    while (ids.length > 0) {
      const { results, omitted_ids: omitted = [] } = await patiently(
        () => mem.recall({ query: "all", ids, namespace }),
        io,
      );
      for (const memory of results) {
        if (memory.id !== undefined) texts.set(memory.id, memory);
      }
      // Each answer has at least one memory; else nothing would be read.
      ids = omitted.length < ids.length ? omitted : [];
    }
  }
  return texts;
}
