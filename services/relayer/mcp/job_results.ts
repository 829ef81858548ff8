/**
 * What became of the jobs that store memories, as tools tell it, and the tool
 * that looks at jobs again.
 *
 * @module
 */

import { quoteMemory } from "../../../sdk/ai/fence.ts";
import type { RememberBulkItemResult } from "../../../sdk/memory/remember_types.ts";
import {
  defineTool,
  errorResult,
  type McpTool,
  type ToolResult,
} from "../../shared/mcp/catalog.ts";
import { list } from "../../shared/schema/composite.ts";
import { object, optional, withDefault } from "../../shared/schema/object.ts";
import {
  described,
  type JsonSchema,
  said,
  shownObject,
} from "../../shared/schema/schema.ts";
import { integer, text } from "../../shared/schema/values.ts";
import { type MemoryContext, withFaults } from "./memory_context.ts";
import { showLines } from "./memory_texts.ts";

const COUNT = { type: "integer" } as const;
const MAX_ID_CHARS = 128;
const MAX_JOBS = 20;
/** Less than the 60 s that clients wait for an answer by default. */
const MAX_WAIT_MS = 45_000;

/** What a tool tells of one job. */
type JobRow = Pick<RememberBulkItemResult, "id" | "blob_id" | "error"> & {
  readonly status: "done" | "failed" | "running" | "not_found";
};

/** The schema of what {@linkcode jobsResult} returns. */
export const JOBS_VIEW: JsonSchema = shownObject({
  total: COUNT,
  succeeded: COUNT,
  failed: COUNT,
  running: COUNT,
  results: {
    type: "array",
    items: shownObject({
      id: said("The id of the job, and of the memory when it is done"),
      blob_id: said("The blob that holds the memory; empty without one"),
      status: said("done, failed, running or not_found"),
      text: said("The fact, of memwal_analyze"),
      error: said("Why the job failed"),
    }, ["text", "error"]),
  },
});

/** Makes the rows of jobs that were waited for. */
export function jobRows(
  results: readonly RememberBulkItemResult[],
): readonly JobRow[] {
  return results.map(({ id, blob_id, status, error }) =>
    status === "timeout"
      ? { id, blob_id, status: "running" }
      : { id, blob_id, status, ...(error === undefined ? {} : { error }) }
  );
}

/** Makes the result of a tool about jobs; an error when every one failed. */
export function jobsResult(
  jobs: readonly JobRow[],
  { verb, texts = new Map() }: {
    /** What was done, such as `Remembered`. */
    readonly verb: string;
    /** The facts by their jobs. @default none is told */
    readonly texts?: ReadonlyMap<string, string>;
  },
): ToolResult {
  const rows = jobs.map((row) => {
    const text = texts.get(row.id);
    return { ...row, ...(text === undefined ? {} : { text }) };
  });
  const count = (...states: readonly JobRow["status"][]) =>
    rows.filter(({ status }) => states.includes(status)).length;
  const succeeded = count("done");
  const failed = count("failed", "not_found");
  const running = count("running");
  const lines = rows.map(({ id, blob_id, status, text, error }, index) =>
    `${index + 1}. [${status}] id=${id}` +
    (blob_id === "" ? "" : ` blob_id=${blob_id}`) +
    (text === undefined ? "" : ` ${quoteMemory(text)}`) +
    (error === undefined ? "" : ` error=${quoteMemory(error)}`)
  );
  const said = [
    `${verb} ${succeeded} of ${rows.length}, failed ${failed}, still running ` +
    `${running}`,
    ...(rows.length === 0 ? [] : [showLines(lines)]),
    ...(running === 0 ? [] : [STILL_RUNNING]),
  ].join("\n");
  if (rows.length > 0 && failed === rows.length) return errorResult(said);
  return {
    content: [{ type: "text", text: said }],
    structuredContent: {
      ...{ total: rows.length, succeeded, failed, running, results: rows },
    },
  };
}

/** What a model is to do about jobs that take long. */
export const STILL_RUNNING: string =
  "A running job was accepted and is not lost: ask memwal_remember_status for " +
  "it, and do not send its text again.";

/** The tool that looks at jobs. */
export const STATUS_TOOL: McpTool<MemoryContext> = defineTool({
  name: "memwal_remember_status",
  title: "Look at jobs",
  description:
    "Tells whether texts that were accepted are stored by now. Use " +
    "it with the ids of jobs that memwal_remember, memwal_remember_bulk or " +
    "memwal_analyze called running.",
  annotations: { readOnlyHint: true, idempotentHint: true },
  input: object({
    job_id: optional(
      text({ minLength: 1, maxLength: MAX_ID_CHARS }),
      "The id of a job",
    ),
    job_ids: optional(
      list(text({ minLength: 1, maxLength: MAX_ID_CHARS }), {
        ...{ minItems: 1, maxItems: MAX_JOBS },
      }),
      "The ids of several jobs",
    ),
    waitMs: withDefault(
      described(
        integer({ minimum: 0, maximum: MAX_WAIT_MS }),
        "Milliseconds to wait for the jobs to end",
      ),
      10_000,
    ),
  }),
  output: JOBS_VIEW,
  run: ({ job_id, job_ids = [], waitMs }, call) =>
    withFaults(call, async () => {
      const ids = job_id === undefined ? job_ids : [job_id, ...job_ids];
      if (ids.length === 0 || ids.length > MAX_JOBS) {
        return errorResult(
          `Cannot call memwal_remember_status: give 1 to ${MAX_JOBS} ids`,
        );
      }
      const { mem } = call.context;
      const { signal } = call;
      if (waitMs > 0) {
        await mem.waitForRememberJobs(ids, [], { timeoutMs: waitMs, signal });
      }
      // The states are read once more: a wait calls an unknown job failed.
      const { results } = await mem.getRememberBulkStatus(ids, { signal });
      const rows = results.map(({ job_id: id, blob_id = "", status, error }) =>
        status === "done" || status === "failed" || status === "not_found"
          ? { id, blob_id, status, ...(error === undefined ? {} : { error }) }
          : { id, blob_id, status: "running" as const }
      );
      return jobsResult(rows, { verb: "Stored" });
    }),
});
