/**
 * Opens what is imported: a file of JSON, or a folder of Markdown, and yields
 * its records.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { join, relative } from "node:path";
import { quote } from "../../../shared/quote.ts";
import { isJsonObject } from "../../../shared/schema/schema.ts";
import { describeError } from "../../../shared/settled.ts";
import { fileSource } from "../../../shared/transfer/line_file.ts";
import { CHATGPT } from "./chatgpt.ts";
import { CLAUDE } from "./claude.ts";
import { detectShape, readJsonItems } from "./json_items.ts";
import { readMarkdown } from "./markdown.ts";
import { MEM0, MEMORIES } from "./memory_records.ts";
import type { ImportedRecord, JsonFormat } from "./record.ts";

/** All formats of JSON, those first that are told by more. */
export const JSON_FORMATS: readonly JsonFormat[] = [
  CLAUDE,
  CHATGPT,
  MEM0,
  MEMORIES,
];

/** A record, and how far it is. */
interface SourceRecord {
  /** The record; undefined for a value of no known format. */
  readonly record: ImportedRecord | undefined;
  /** The name of its format. */
  readonly format: string;
  /** How much of the source was read, from 0 to 1; undefined when unknown. */
  readonly share: number | undefined;
}

const HEAD_BYTES = 65_536;
/** Most bytes of a page of Markdown. */
const MAX_PAGE_BYTES = 16_777_216;

/**
 * Yields the records of a file or a folder.
 *
 * @throws {Error} when it cannot be read
 */
export async function* readSource(path: string): AsyncGenerator<SourceRecord> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    throw new Error(`Cannot read ${quote(path)}: ${describeError(error)}`);
  }
  if (info.isDirectory) yield* readFolder(path);
  else if (/\.(?:md|markdown)$/i.test(path)) {
    yield await readPage(path, { path, share: 1 });
  } else yield* readJson(path, info.size);
}

async function* readJson(
  path: string,
  size: number,
): AsyncGenerator<SourceRecord> {
  const shape = detectShape(
    await readHead(path),
    (value) =>
      isJsonObject(value) && JSON_FORMATS.some(({ fits }) => fits(value)),
  );
  if (shape === undefined) {
    const hint = (await readHead(path)).startsWith("PK")
      ? "it is a ZIP file; unpack it, and import conversations.json"
      : "it is neither JSON nor Markdown";
    throw new Error(`Cannot import ${quote(path)}: ${hint}`);
  }
  let readBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of fileSource(path).chunks) {
      readBytes += chunk.length;
      yield chunk;
    }
  }
  for await (const value of readJsonItems(counted(), { shape })) {
    const share = size === 0 ? undefined : readBytes / size;
    const format = isJsonObject(value)
      ? JSON_FORMATS.find(({ fits }) => fits(value))
      : undefined;
    yield {
      record: isJsonObject(value) ? format?.read(value) : undefined,
      format: format?.name ?? "",
      share,
    };
  }
}

async function readHead(path: string): Promise<string> {
  using file = await Deno.open(path, { read: true });
  const bytes = new Uint8Array(HEAD_BYTES);
  const count = await file.read(bytes) ?? 0;
  return Buffer.from(bytes.subarray(0, count)).toString("utf8");
}

/** Yields the pages of a folder by their paths; links are not followed. */
async function* readFolder(root: string): AsyncGenerator<SourceRecord> {
  const paths = await findPages(root);
  for (const [at, path] of paths.entries()) {
    const share = (at + 1) / paths.length;
    yield await readPage(path, { path: relative(root, path), share });
  }
}

async function findPages(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    if (name.startsWith(".")) continue;
    const path = join(folder, name);
    if (isDirectory) found.push(...await findPages(path));
    else if (isFile && /\.(?:md|markdown)$/i.test(name)) found.push(path);
  }
  return found.toSorted((a, b) => a < b ? -1 : 1);
}

async function readPage(
  file: string,
  { path, share }: { readonly path: string; readonly share: number },
): Promise<SourceRecord> {
  const { size, mtime } = await Deno.stat(file);
  if (size > MAX_PAGE_BYTES) {
    throw new Error(
      `Cannot import ${quote(file)}: it has more than ${MAX_PAGE_BYTES} bytes`,
    );
  }
  const content = await Deno.readTextFile(file);
  const changedAtMs = mtime?.getTime();
  const record = readMarkdown({ path, content, changedAtMs });
  return { record, format: "markdown", share };
}
