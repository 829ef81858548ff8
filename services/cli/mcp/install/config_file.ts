/**
 * Reads and replaces files of settings that belong to other programs.
 *
 * @module
 */

import { dirname } from "node:path";
import { writeDurableFile } from "../../../shared/data_file.ts";
import { quote } from "../../../shared/quote.ts";
import { describeError } from "../../../shared/settled.ts";

/** Most bytes of a file; no list of servers is longer. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A file of settings, as it was read. */
export interface ConfigFile {
  /** Where it is, with links followed. */
  readonly path: string;
  /** Its text; empty for a file that is missing. */
  readonly text: string;
  /** Whether the file exists. */
  readonly exists: boolean;
}

/**
 * Reads a file, or finds that it is missing.
 *
 * @throws {Error} when it cannot be read, or is not a text in UTF-8
 */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  try {
    const real = await Deno.realPath(path);
    const { isFile, size } = await Deno.stat(real);
    if (!isFile) throw new Error("it is not a file");
    if (size > MAX_BYTES) throw new Error(`it has over ${MAX_BYTES} bytes`);
    const bytes = await Deno.readFile(real);
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { path: real, text: decoder.decode(bytes), exists: true };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      return { path: await linkTarget(path), text: "", exists: false };
    }
    throw new Error(`Cannot read ${quote(path)}: ${describeError(error)}`);
  }
}

/**
 * Replaces a file at once, so that its program never sees half of it, and keeps
 * what was there beside it.
 *
 * @returns The path of the copy; undefined when there was no file.
 * @throws {Error} when it is read-only, or cannot be written
 */
export async function replaceConfigFile(
  { path, text, exists }: ConfigFile,
  newText: string,
): Promise<string | undefined> {
  const encoder = new TextEncoder();
  const half = `${path}.${crypto.randomUUID()}`;
  try {
    let mode: number | null = null;
    if (exists) {
      ({ mode } = await Deno.stat(path));
      // The rename below would replace such a file nevertheless.
      if (mode !== null && (mode & 0o200) === 0) {
        throw new Error("it is read-only");
      }
    } else {
      await Deno.mkdir(dirname(path), { recursive: true });
    }
    const copy = `${path}.before-tercet`;
    // Such files may hold secrets of other servers.
    if (exists) await writeDurableFile(copy, encoder.encode(text));
    await writeDurableFile(half, encoder.encode(newText));
    if (mode !== null && Deno.build.os !== "windows") {
      await Deno.chmod(half, mode & 0o777);
    }
    await Deno.rename(half, path);
    return exists ? copy : undefined;
  } catch (error) {
    await Deno.remove(half).catch(() => {});
    throw new Error(
      `Cannot change ${quote(path)}: ${describeError(error)}; change it by ` +
        "hand, or give yourself the right to write there",
    );
  }
}

/** Where a link to a missing file leads; the path itself without a link. */
async function linkTarget(path: string): Promise<string> {
  try {
    const target = await Deno.readLink(path);
    return target.startsWith("/") ? target : `${dirname(path)}/${target}`;
  } catch {
    return path;
  }
}
