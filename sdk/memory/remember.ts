/**
 * Sends texts to be remembered, and waits for their jobs.
 *
 * @module
 */

import {
  readCount,
  readNonEmptyString,
  readString,
  readStrings,
} from "./answer_reader.ts";
import {
  describe,
  optionalName,
  requireName,
  requireText,
} from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import { MAX_BULK } from "./job_status.ts";
import { type CheckedNotes, checkNotes, textOfNotes } from "./memory_notes.ts";
import type {
  RememberAcceptedResult,
  RememberAndWaitOptions,
  RememberBulkAcceptedResult,
  RememberBulkAndWaitOptions,
  RememberBulkItem,
  RememberBulkOptions,
  RememberBulkResult,
  RememberOptions,
  RememberResult,
} from "./remember_types.ts";
import {
  JOBS_TIMEOUT_MS,
  sendWithin,
  waitForRememberJob,
  waitForRememberJobs,
} from "./wait_for_jobs.ts";

/** Does what {@linkcode Mem.remember} says. */
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
      // For a text without notes, nothing is added to what the idempotency key
      // is made from, so that the key is the one that older clients make.
      ...(noteText === "" ? [] : [noteText]),
    ],
    {
      nowMs: parts.clock.nowMs(),
      key: optionalName(idempotencyKey, "idempotencyKey"),
      send: (key) =>
        parts.exchange.send({
          method: "POST",
          path: "/api/remember",
          changes: true,
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

/** Does what {@linkcode Mem.rememberAndWait} says. */
export async function rememberAndWait(
  parts: ClientParts,
  text: string,
  options: RememberAndWaitOptions = {},
): Promise<RememberResult> {
  const [{ job_id }, left] = await sendWithin(parts, {
    ...options,
    send: () => remember(parts, text, options),
  });
  return await waitForRememberJob(parts, job_id, { ...options, ...left });
}

/** Does what {@linkcode Mem.rememberBulk} says. */
export async function rememberBulk(
  parts: ClientParts,
  items: readonly RememberBulkItem[],
  options: RememberBulkOptions = {},
): Promise<RememberBulkAcceptedResult> {
  const texts = checkItems(items, parts.namespace);
  const { idempotencyKey } = options;
  const { json } = await parts.keys.send(
    // The namespace of a single memory is never empty, so the idempotency key
    // of several texts cannot be that of one.
    ["", formatContent(texts)],
    {
      nowMs: parts.clock.nowMs(),
      key: optionalName(idempotencyKey, "idempotencyKey"),
      send: (key) =>
        parts.exchange.send({
          method: "POST",
          path: "/api/remember/bulk",
          changes: true,
          body: { items: texts, idempotency_key: key },
          timeoutMs: parts.requestTimeoutMs,
        }),
    },
  );
  return {
    job_ids: readStrings(json, "job_ids"),
    total: readCount(json, "total"),
    status: readString(json, "status"),
  };
}

/** Does what {@linkcode Mem.rememberBulkAndWait} says. */
export async function rememberBulkAndWait(
  parts: ClientParts,
  items: readonly RememberBulkItem[],
  options: RememberBulkAndWaitOptions = {},
): Promise<RememberBulkResult> {
  const [{ job_ids }, left] = await sendWithin(parts, {
    ...options,
    defaultTimeoutMs: JOBS_TIMEOUT_MS,
    send: () => rememberBulk(parts, items, options),
  });
  return await waitForRememberJobs(parts, job_ids, {
    ...options,
    ...left,
    namespaces: items.map(({ namespace }) => namespace ?? parts.namespace),
  });
}

interface CheckedItem extends CheckedNotes {
  readonly text: string;
  readonly namespace: string;
}

function formatContent(items: readonly CheckedItem[]): string {
  return JSON.stringify(items.map((item) => [
    item.namespace,
    item.text,
    textOfNotes(item),
  ]));
}

function checkItems(
  items: unknown,
  defaultNamespace: string,
): readonly CheckedItem[] {
  if (!Array.isArray(items)) {
    throw new TypeError(
      `Cannot remember in bulk: there is ${describe(items)} instead of a list`,
    );
  }
  if (items.length < 1 || items.length > MAX_BULK) {
    throw new TypeError(
      `Cannot remember in bulk: there are ${items.length} texts instead of ` +
        `1 to ${MAX_BULK}; send them in parts`,
    );
  }
  return items.map((item: unknown, index) => {
    const given = readItem(item, index);
    const { text, namespace = defaultNamespace } = given;
    return {
      text: requireText(text, `items[${index}].text`),
      namespace: requireName(namespace, `items[${index}].namespace`),
      ...checkNotes(given, `items[${index}].`),
    };
  });
}

function readItem(
  item: unknown,
  index: number,
): { readonly [Name in keyof RememberBulkItem]?: unknown } {
  if (typeof item === "object" && item !== null) return item;
  throw new TypeError(
    `Cannot remember in bulk: items[${index}] is ${describe(item)} instead ` +
      `of an object with text`,
  );
}
