/**
 * The files of this process.
 *
 * @module
 */

import type { Files } from "./read_parts.ts";

/** The files of this process. */
export const processFiles: Files = {
  async read(path) {
    try {
      return await Deno.readTextFile(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  },
  async create(path, text) {
    using file = await Deno.open(path, {
      write: true,
      createNew: true,
      mode: 0o600,
    });
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(await file.write(rest));
    await file.sync();
  },
  async makeFolder(path) {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  },
};
