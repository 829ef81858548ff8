/**
 * A folder that is gone after the test.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";

/** A temporary folder. */
export class TempFolder {
  /** Its path. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes one. */
  static async make(): Promise<TempFolder> {
    return new TempFolder(await Deno.makeTempDir({ prefix: "sdk_test_" }));
  }

  /**
   * Removes it with all there is. The last processes of a browser may still
   * write for a moment after the first one has ended.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await waitUntil(async () => {
      await Deno.remove(this.path, { recursive: true });
      return true;
    }, { what: `the end of "${this.path}"` });
  }
}
