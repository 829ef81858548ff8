/**
 * A folder for the data of a service, gone after the test.
 *
 * @module
 */

/** A temporary folder. */
export class DataFolder {
  /** Its path. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes one. */
  static async make(): Promise<DataFolder> {
    return new DataFolder(await Deno.makeTempDir({ prefix: "tasks_test_" }));
  }

  /** Removes it with all there is. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
