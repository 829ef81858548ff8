/**
 * Has a text remembered.
 *
 * @module
 */

import { readNonEmptyString, readString } from "./answer_reader.ts";
import { optionalName, requireName, requireText } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import { checkNotes, textOfNotes } from "./memory_notes.ts";
import type {
  RememberAcceptedResult,
  RememberAndWaitOptions,
  RememberOptions,
  RememberResult,
} from "./remember_types.ts";
import { waitForRememberJob } from "./wait_for_job.ts";

/**
 * Sends a text to be remembered, and returns as soon as the relayer has it.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer did not take it.
 */
export async function remember(
  parts: ClientParts,
  text: string,
  options: RememberOptions = {},
): Promise<RememberAcceptedResult> {
  requireText(text, "text");
  const { idempotencyKey, namespace = parts.namespace } = options;
  const notes = checkNotes(options);
  const noteText = textOfNotes(notes);
  const { json } = await parts.keys.send(
    [
      requireName(namespace, "namespace"),
      text,
      // The key of a text alone is made as every client makes it.
      ...(noteText === "" ? [] : [noteText]),
    ],
    {
      nowMs: parts.clock.nowMs(),
      key: optionalName(idempotencyKey, "idempotencyKey"),
      send: (key) =>
        parts.exchange.send({
          method: "POST",
          path: "/api/remember",
          body: { text, namespace, idempotency_key: key, ...notes },
          timeoutMs: parts.requestTimeoutMs,
        }),
    },
  );
  return {
    job_id: readNonEmptyString(json, "job_id"),
    status: readString(json, "status"),
  };
}

/**
 * Sends a text to be remembered and waits until it is.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {RememberJobError} When no memory came of it.
 * @throws {MemError} When the relayer did not take it.
 */
export async function rememberAndWait(
  parts: ClientParts,
  text: string,
  options: RememberAndWaitOptions = {},
): Promise<RememberResult> {
  const { job_id } = await remember(parts, text, options);
  return await waitForRememberJob(parts, job_id, options);
}
