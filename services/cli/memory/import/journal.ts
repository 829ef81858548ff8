/**
 * The journal of an import: a line for each part that the relayer has accepted,
 * so that the next run leaves it out.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { describeError } from "../../../shared/settled.ts";
import { fileSource } from "../../../shared/transfer/line_file.ts";

const HEAD = "tercet memory import, version 1";
const HASH = /^[A-Za-z0-9_-]{24}$/;

/** Knows the hashes of what was imported; about 100 bytes of memory for each. */
export class ImportJournal {
  readonly #file: Deno.FsFile;
  readonly #known: Set<string>;

  private constructor(file: Deno.FsFile, known: Set<string>) {
    this.#file = file;
    this.#known = known;
  }

  /**
   * Opens or makes a journal; a line that a stop has cut is left out.
   *
   * @throws {Error} when it cannot be opened, or the file is no journal
   */
  static async open(path: string): Promise<ImportJournal> {
    const shown = quote(path);
    let file: Deno.FsFile;
    try {
      file = await Deno.open(path, {
        ...{ read: true, append: true, create: true, mode: 0o600 },
      });
    } catch (error) {
      throw new Error(
        `Cannot open journal ${shown}: ${describeError(error)}; name another ` +
          "with --journal",
      );
    }
    try {
      const known = await readHashes(path);
      if (known === undefined) {
        throw new Error(`Cannot use journal ${shown}: it is another file`);
      }
      const journal = new ImportJournal(file, known);
      // An empty line ends one that was cut.
      await journal.#write((await file.stat()).size === 0 ? `${HEAD}\n` : "\n");
      return journal;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Whether a part was accepted before. */
  has(hash: string): boolean {
    return this.#known.has(hash);
  }

  /** Notes parts that were accepted; they are on the disk when this resolves. */
  async add(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) this.#known.add(hash);
    await this.#write(hashes.map((hash) => `${hash}\n`).join(""));
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }

  async #write(text: string): Promise<void> {
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(await this.#file.write(rest));
    await this.#file.syncData();
  }
}

/** Reads a journal; undefined when the file is another one. */
async function readHashes(path: string): Promise<Set<string> | undefined> {
  const known = new Set<string>();
  const decoder = new TextDecoder();
  let rest = "";
  let isFirst = true;
  for await (const chunk of fileSource(path).chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (isFirst && line !== HEAD) return undefined;
      isFirst = false;
      if (HASH.test(line)) known.add(line);
    }
  }
  return isFirst && rest !== "" ? undefined : known;
}
