/**
 * The tools that write memories.
 *
 * @module
 */

import { quoteMemory } from "../../../sdk/ai/fence.ts";
import type { ClientClock } from "../../../sdk/memory/client_clock.ts";
import {
  defineTool,
  errorResult,
  type McpTool,
} from "../../shared/mcp/catalog.ts";
import { list } from "../../shared/schema/composite.ts";
import {
  object,
  optional,
  type OptionalField,
  withDefault,
} from "../../shared/schema/object.ts";
import { described, said, shownObject } from "../../shared/schema/schema.ts";
import { integer, text } from "../../shared/schema/values.ts";
import {
  type MemoryContext,
  namespaceOf,
  withFaults,
  withTicks,
} from "./memory_context.ts";
import {
  jobRows,
  JOBS_VIEW,
  jobsResult,
  STATUS_TOOL,
  STILL_RUNNING,
} from "./job_results.ts";

/** Most characters of a text; the relayer's limit is in bytes. */
const MAX_TEXT_CHARS = 1_048_576;
/** Most characters of a text that facts are extracted from. */
const MAX_ANALYZED_CHARS = 65_536;
const MAX_NAME_CHARS = 255;
/**
 * How long a tool waits for jobs; less than the 60 s that clients wait by
 * default. Longer jobs are for memwal_remember_status.
 */
const WAIT_MS = 45_000;
const COUNT = { type: "integer" } as const;

/** A namespace as an argument. */
export const NAMESPACE: OptionalField<string> = optional(
  text({ minLength: 1, maxLength: MAX_NAME_CHARS }),
  "The namespace; by default the one that the connection was set up with",
);

const WRITES = { readOnlyHint: false, destructiveHint: false } as const;

/** Makes the tools that write memories. */
export function writeTools(
  clock: ClientClock,
): readonly McpTool<MemoryContext>[] {
  return [
    rememberTool(clock),
    rememberBulkTool(clock),
    analyzeTool(clock),
    STATUS_TOOL,
    restoreTool(clock),
  ];
}

function rememberTool(clock: ClientClock): McpTool<MemoryContext> {
  return defineTool({
    name: "memwal_remember",
    title: "Remember a text",
    description: "Stores one text as a memory, encrypted, and waits until it " +
      "is stored. Use it for a fact, a preference or a decision that should " +
      "be known in later conversations. Write the text so that it can be " +
      "understood alone.",
    annotations: { ...WRITES, idempotentHint: true },
    input: object({
      text: described(
        text({ minLength: 1, maxLength: MAX_TEXT_CHARS }),
        "What is remembered, at most a mebibyte",
      ),
      namespace: NAMESPACE,
    }),
    output: shownObject({
      id: said("The memory's id"),
      status: said("done, or running when it takes longer"),
      blob_id: said("The blob that holds it; absent while it is running"),
      namespace: said("Its namespace; absent while it is running"),
    }, ["blob_id", "namespace"]),
    run: (input, call) =>
      withFaults(call, async () => {
        const { mem } = call.context;
        const { signal } = call;
        const namespace = namespaceOf(input, call);
        const { job_id } = await mem.remember(input.text, {
          namespace,
          signal,
        });
        const { results: [job] } = await withTicks(call, {
          clock,
          message: "accepted; waiting until it is stored",
          work: () =>
            mem.waitForRememberJobs([job_id], [], {
              timeoutMs: WAIT_MS,
              signal,
            }),
        });
        if (job === undefined || job.status === "timeout") {
          return {
            content: [{
              type: "text",
              text: `Accepted as job ${job_id}. ${STILL_RUNNING}`,
            }],
            structuredContent: { id: job_id, status: "running" },
          };
        }
        const { id, blob_id, status, namespace: place, error = "" } = job;
        if (status === "failed") {
          return errorResult(
            `Cannot remember: the job failed with ${quoteMemory(error)}`,
          );
        }
        return {
          content: [{
            type: "text",
            text: `Remembered in namespace ${quoteMemory(place)}: memory ` +
              `${id}, blob ${blob_id}`,
          }],
          structuredContent: { id, status, blob_id, namespace: place },
        };
      }),
  });
}

function rememberBulkTool(clock: ClientClock): McpTool<MemoryContext> {
  return defineTool({
    name: "memwal_remember_bulk",
    title: "Remember several texts",
    description: "Stores 1 to 20 texts as memories in one call and waits " +
      "until each is stored or has failed. Use it instead of several calls " +
      "of memwal_remember.",
    annotations: { ...WRITES, idempotentHint: true },
    input: object({
      facts: described(
        list(text({ minLength: 1, maxLength: MAX_TEXT_CHARS }), {
          ...{ minItems: 1, maxItems: 20 },
        }),
        "The texts, each understandable alone",
      ),
      namespace: NAMESPACE,
    }),
    output: JOBS_VIEW,
    run: (input, call) =>
      withFaults(call, async () => {
        const { mem } = call.context;
        const { signal } = call;
        const namespace = namespaceOf(input, call);
        const items = input.facts.map((text) => ({
          text,
          ...(namespace === undefined ? {} : { namespace }),
        }));
        const { job_ids } = await mem.rememberBulk(items, { signal });
        const outcome = await withTicks(call, {
          clock,
          message: `accepted ${job_ids.length}; waiting until they are stored`,
          work: () =>
            mem.waitForRememberJobs(job_ids, [], {
              timeoutMs: WAIT_MS,
              signal,
            }),
        });
        return jobsResult(jobRows(outcome.results), { verb: "Remembered" });
      }),
  });
}

function analyzeTool(clock: ClientClock): McpTool<MemoryContext> {
  return defineTool({
    name: "memwal_analyze",
    title: "Remember the facts in a text",
    description: "Extracts the lasting facts from a text, such as a message " +
      "or notes of a meeting, and stores each as a memory. Waits until they " +
      "are stored.",
    annotations: { ...WRITES, idempotentHint: false },
    input: object({
      text: described(
        text({ minLength: 1, maxLength: MAX_ANALYZED_CHARS }),
        "The text, at most 64 kibibytes",
      ),
      namespace: NAMESPACE,
      occurred_at: optional(
        text({ maxLength: 40, format: "date-time" }),
        "When it was said (RFC 3339), so that words such as yesterday get a " +
          "date",
      ),
    }),
    output: JOBS_VIEW,
    run: (input, call) =>
      withFaults(call, async () => {
        const { mem } = call.context;
        const { signal } = call;
        const { job_ids, facts } = await mem.analyze(input.text, {
          namespace: namespaceOf(input, call),
          occurredAt: input.occurred_at,
          signal,
        });
        if (job_ids.length === 0) {
          return jobsResult([], { verb: "Found no lasting facts: remembered" });
        }
        const outcome = await withTicks(call, {
          clock,
          message: `found ${facts.length} facts; waiting until they are stored`,
          work: () =>
            mem.waitForRememberJobs(job_ids, [], {
              timeoutMs: WAIT_MS,
              signal,
            }),
        });
        const texts = new Map(facts.map(({ job_id, text }) => [job_id, text]));
        return jobsResult(jobRows(outcome.results), {
          ...{ verb: "Extracted and remembered", texts },
        });
      }),
  });
}

function restoreTool(clock: ClientClock): McpTool<MemoryContext> {
  return defineTool({
    name: "memwal_restore",
    title: "Restore a namespace",
    description: "Rebuilds the index of a namespace from the stored blobs. " +
      "Use it when memories are missing after a loss; it changes no memory.",
    annotations: { ...WRITES, idempotentHint: true },
    input: object({
      namespace: described(
        text({ minLength: 1, maxLength: MAX_NAME_CHARS }),
        "The namespace",
      ),
      limit: withDefault(
        described(
          integer({ minimum: 1, maximum: 500 }),
          "The most memories to restore; the relayer does 100 at a time",
        ),
        10,
      ),
    }),
    output: shownObject({
      total: COUNT,
      restored: COUNT,
      skipped: COUNT,
      failed: COUNT,
      truncated: { type: "boolean" },
    }),
    run: ({ namespace, limit }, call) =>
      withFaults(call, async () => {
        const restored = await withTicks(call, {
          clock,
          message: "reading blobs",
          work: () => call.context.mem.restore(namespace, limit),
        });
        const { total, skipped, failed, truncated } = restored;
        return {
          content: [{
            type: "text",
            text: `Restored ${restored.restored} of ${total} memories, ` +
              `skipped ${skipped}, failed ${failed}` +
              (truncated ? "; there are more, call again" : ""),
          }],
          structuredContent: {
            ...{ total, restored: restored.restored, skipped, failed },
            truncated,
          },
        };
      }),
  });
}
