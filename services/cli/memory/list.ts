/**
 * `tercet memory list` and `forget`: the memories of a namespace without their
 * texts, and their end.
 *
 * @module
 */

import {
  type Mem,
  MemError,
  type MemoryEntry,
  type NamespaceEntry,
} from "../../../mod.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { integerOption, switchOption } from "../../shared/options.ts";
import type { CliIo } from "../tasks/connection.ts";
import { formatTable, shownTime } from "../tasks/table.ts";
import { CONNECTION, patiently, withMemory } from "./connection.ts";

const LIST_FLAGS = {
  ...CONNECTION,
  limit: integerOption({
    default: 100,
    min: 1,
    max: 100_000,
    help: "The maximum number of lines.",
  }),
  namespaces: switchOption({ help: "List namespaces in place of memories." }),
  all: switchOption({ help: "List memories of all namespaces." }),
} as const;

const LIST: CommandShape = {
  usage: "tercet memory list",
  about:
    "Lists memories without their texts, the one that changed last last. " +
    "Exit codes: 0 success, 1 refused or no answer, 2 invalid arguments.",
};

const PAGE = 500;

/** Runs `list`; returns the exit code. */
export async function runList(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(LIST_FLAGS, { args, io, command: LIST });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  return await withMemory(values, { io, command: LIST }, async (mem) => {
    const { limit, json, all, namespaces } = values;
    const found: (MemoryEntry | NamespaceEntry)[] = [];
    let cursor: string | undefined;
    do {
      const ask = async () =>
        namespaces ? await namespacePage(mem, cursor) : await memoryPage(mem, {
          cursor,
          namespace: all ? undefined : mem.namespace,
        });
      const { entries, next } = await patiently(ask, io);
      found.push(...entries.slice(0, limit - found.length));
      cursor = next;
    } while (cursor !== undefined && found.length < limit);
    io.progress?.("");
    if (json) { for (const entry of found) io.out(JSON.stringify(entry)); }
    else if (found.length === 0) io.err("Nothing is listed.");
    else io.out(table(found));
    return 0;
  });
}

interface Page {
  readonly entries: readonly (MemoryEntry | NamespaceEntry)[];
  readonly next: string | undefined;
}

async function memoryPage(
  mem: Mem,
  options: {
    readonly cursor: string | undefined;
    readonly namespace: string | undefined;
  },
): Promise<Page> {
  const page = await mem.listMemories({ ...options, limit: PAGE });
  return { entries: page.memories, next: nextOf(page) };
}

async function namespacePage(
  mem: Mem,
  cursor: string | undefined,
): Promise<Page> {
  const page = await mem.listNamespaces({ cursor, limit: PAGE });
  return { entries: page.namespaces, next: nextOf(page) };
}

/** Returns the cursor of the next page; undefined for none. */
export function nextOf(
  page: { readonly has_more: boolean; readonly next_cursor: string | null },
): string | undefined {
  return page.has_more ? page.next_cursor ?? undefined : undefined;
}

function table(entries: readonly (MemoryEntry | NamespaceEntry)[]): string {
  const [first] = entries;
  return first !== undefined && "memory_id" in first
    ? formatTable(
      ["ID", "NAMESPACE", "WRITTEN", "STATUS", "BYTES"],
      entries.flatMap((entry) =>
        "memory_id" in entry
          ? [[
            entry.memory_id,
            entry.namespace_id,
            shownTime(entry.created_at),
            entry.status,
            String(entry.size),
          ]]
          : []
      ),
    )
    : formatTable(
      ["NAMESPACE", "MEMORIES", "BYTES", "CHANGED"],
      entries.flatMap((entry) =>
        "name" in entry
          ? [[
            entry.name,
            String(entry.memory_count),
            String(entry.storage_used),
            shownTime(entry.updated_at),
          ]]
          : []
      ),
    );
}

const FORGET_FLAGS = {
  ...CONNECTION,
  all: switchOption({
    help: "Forget the whole namespace. Its memories can be restored; recall " +
      "does not find them until then.",
  }),
  yes: switchOption({ help: "With --all, do it; else only count." }),
} as const;

const FORGET: CommandShape = {
  usage: "tercet memory forget ID…",
  about:
    "Deletes memories for good, by their ids; with --all only counts the " +
    "memories of the namespace until you add --yes. Exit codes: 0 success, 1 " +
    "a memory is unknown, refused or no answer, 2 invalid arguments.",
  positionals: Infinity,
  leastPositionals: 0,
};

/** Runs `forget`; returns the exit code. */
export async function runForget(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FORGET_FLAGS, { args, io, command: FORGET });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: ids } = read;
  const { all, yes, json } = values;
  if (all === ids.length > 0) {
    const fault = "Cannot select memories: give ids, or --all for a namespace";
    return wrongArguments(fault, { io, command: FORGET }).exitCode;
  }
  if (yes && !all) {
    const fault = "Cannot use --yes: ids need no confirmation";
    return wrongArguments(fault, { io, command: FORGET }).exitCode;
  }
  return await withMemory(values, { io, command: FORGET }, async (mem) => {
    if (!all) return await forgetEach(ids, { mem, io, json });
    if (yes) {
      const result = await mem.forget(mem.namespace);
      const { deleted, namespace } = result;
      io.out(
        json
          ? JSON.stringify(result)
          : `${deleted} memories of "${namespace}" are forgotten`,
      );
      return 0;
    }
    const result = await mem.stats();
    const { memory_count: count, namespace } = result;
    io.out(
      json
        ? JSON.stringify(result)
        : `${count} memories of "${namespace}" would be forgotten; say --yes ` +
          "to do it",
    );
    return 0;
  });
}

/** Deletes each memory; goes on with the next after a failure. */
async function forgetEach(
  ids: readonly string[],
  { mem, io, json }: {
    readonly mem: Mem;
    readonly io: CliIo;
    readonly json: boolean;
  },
): Promise<number> {
  let exitCode = 0;
  for (const id of ids) {
    try {
      const result = await patiently(() => mem.deleteMemory(id), io);
      io.out(json ? JSON.stringify(result) : id);
    } catch (error) {
      if (!(error instanceof MemError)) throw error;
      io.err(`${id}: ${error.message}`);
      exitCode = 1;
    }
  }
  return exitCode;
}
