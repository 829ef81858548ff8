/**
 * A temporary data folder for a service, which is removed after the test.
 *
 * @module
 */

/** A temporary folder. */
export class DataFolder {
  /** The path of the folder. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Creates a temporary folder. */
  static async make(): Promise<DataFolder> {
    return new DataFolder(await Deno.makeTempDir({ prefix: "tasks_test_" }));
  }

  /** Removes the folder and everything in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
