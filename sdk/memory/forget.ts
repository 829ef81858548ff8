/**
 * Takes a whole namespace from the index.
 *
 * @module
 */

import { readCount, readString } from "./answer_reader.ts";
import { requireName } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import type { ForgetResult } from "./namespace_types.ts";

/**
 * Takes all memories of a namespace from the index. Their blobs stay, and
 * `restore` brings them back.
 *
 * @throws {TypeError} When `namespace` is no name: nothing is forgotten by
 * leaving it out.
 * @throws {MemError} When the relayer does not do it.
 */
export async function forget(
  parts: ClientParts,
  namespace: string,
): Promise<ForgetResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/forget",
    body: { namespace: requireName(namespace, "namespace") },
    timeoutMs: parts.requestTimeoutMs,
  });
  return {
    deleted: readCount(json, "deleted"),
    namespace: readString(json, "namespace"),
    owner: readString(json, "owner"),
  };
}
