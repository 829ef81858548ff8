/**
 * Finds the blobs in a relayer's data folder.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { filesUnder } from "./readable_traces.ts";

/**
 * Returns the paths of the blobs by the ids computed from their content,
 * independent of the file names.
 */
export async function blobFiles(
  dataDir: string,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const path of await filesUnder(`${dataDir}/blobs`)) {
    files.set(blobId(await Deno.readFile(path)), path);
  }
  return files;
}

/** Computes the id of a blob from its bytes. */
export function blobId(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}
