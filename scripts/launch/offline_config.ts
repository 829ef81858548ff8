/**
 * Writes `deno.offline.json`, the configuration of a run without JSR: the
 * project's own configuration, with the stand-ins for the `@std` packages
 * linked in and another lock file.
 *
 * @module
 */

/** The path of the derived configuration within the project; git ignores it. */
export const OFFLINE_CONFIG_PATH = "deno.offline.json";

/** Options of {@linkcode deriveOfflineConfig}. */
export interface OfflineConfigOptions {
  /** Whether a lock file that is out of date is an error, as in CI. */
  readonly frozen: boolean;
}

/** Options of {@linkcode writeOfflineConfig}. */
export interface WriteOfflineConfigOptions extends OfflineConfigOptions {
  /** The folder of `deno.json`, with a slash at its end. */
  readonly root: URL;
}

/**
 * Returns the text of the offline configuration for the text of `deno.json`.
 * The real packages stay in the import map: a linked package of the same name
 * takes their place. The lock file is another one, because Deno would remove
 * the entries of the real packages from `deno.lock`.
 *
 * @throws {SyntaxError} When `denoJson` is not a JSON object.
 */
export function deriveOfflineConfig(
  denoJson: string,
  options: OfflineConfigOptions,
): string {
  const config: unknown = JSON.parse(denoJson);
  if (
    typeof config !== "object" || config === null || Array.isArray(config)
  ) {
    throw new SyntaxError("Cannot derive from deno.json: it is not an object");
  }
  const derived = {
    ...config,
    links: ["./scripts/offline/*"],
    lock: { path: "deno.offline.lock", frozen: options.frozen },
  };
  return JSON.stringify(derived, null, 2) + "\n";
}

/**
 * Brings `deno.offline.json` up to date. The file is replaced in one step, and
 * only when it differs, so that parallel runs never read half a file.
 *
 * @throws {Deno.errors.NotFound} When there is no `deno.json`.
 * @throws {Error} When the file can't be written; says what to do.
 */
export async function writeOfflineConfig(
  options: WriteOfflineConfigOptions,
): Promise<void> {
  const path = new URL(OFFLINE_CONFIG_PATH, options.root);
  const wanted = deriveOfflineConfig(
    await Deno.readTextFile(new URL("deno.json", options.root)),
    options,
  );
  if (await readIfPresent(path) === wanted) return;
  const part = new URL(`${OFFLINE_CONFIG_PATH}.${Deno.pid}`, options.root);
  try {
    await Deno.writeTextFile(part, wanted);
    await Deno.rename(part, path);
  } catch (cause) {
    if (!isNoWriting(cause)) throw cause;
    throw new Error(
      `Cannot write ${OFFLINE_CONFIG_PATH}: this checkout can't be written to, and ` +
        "JSR can't be reached; copy it to a folder of yours, or set TERCET_STD=jsr " +
        "where the @std packages are in Deno's cache",
      { cause },
    );
  }
}

/**
 * Returns whether an error means that a file may not be written, because of its
 * permissions or because the file system is read-only.
 */
export function isNoWriting(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable ||
    (error instanceof Error && "code" in error && error.code === "EROFS");
}

async function readIfPresent(path: URL): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Returns whether a variable such as `CI` is on. Systems write `true` or `1`;
 * `false`, `0` and the empty text mean off.
 */
export function isTrue(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false"].includes(value);
}
