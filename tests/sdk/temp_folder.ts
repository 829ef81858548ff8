/**
 * A temporary folder that is removed after the test.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";

/** A temporary folder. */
export class TempFolder {
  /** The path of the folder. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Creates a temporary folder. */
  static async make(): Promise<TempFolder> {
    return new TempFolder(await Deno.makeTempDir({ prefix: "sdk_test_" }));
  }

  /**
   * Removes the folder with all its content. It retries, since child processes
   * of a browser may still write for a moment after the main one has ended.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await waitUntil(async () => {
      await Deno.remove(this.path, { recursive: true });
      return true;
    }, { what: `the end of "${this.path}"` });
  }
}
