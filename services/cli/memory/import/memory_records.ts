/**
 * Reads memories of other stores: what mem0 exports and lists (`memory`,
 * `user_id`, `metadata`), what MemWal's routes answer (`text`, `blob_id`), and
 * the lines of `tercet memory export`.
 *
 * @module
 */

import { type JsonFormat, readMetadata, readText, readTime } from "./record.ts";

type Json = Readonly<Record<string, unknown>>;

/** mem0's export, and lists of its API. */
export const MEM0: JsonFormat = {
  name: "mem0",
  fits: ({ memory }) => typeof memory === "string",
  read: (value) => readRecord(value, readText(value["memory"])),
};

/** MemWal's memories, and lines of an export of this relayer. */
export const MEMORIES: JsonFormat = {
  name: "memories",
  fits: ({ text, ...others }) =>
    typeof text === "string" || (text === null && "namespace" in others) ||
    "deleted_at" in others || "cursor" in others,
  read: (value) => readRecord(value, readText(value["text"])),
};

const IDS = ["id", "memory_id", "blob_id", "job_id", "uuid"] as const;
/** What tells for whom a memory is; kept as metadata. */
const OWNERS = ["user_id", "agent_id", "app_id", "run_id"] as const;

function readRecord(value: Json, text: string) {
  const id = IDS.map((name) => readText(value[name])).find((one) => one !== "");
  const { importance } = value;
  const owners = Object.fromEntries(
    OWNERS.flatMap((name) => {
      const owner = readText(value[name]);
      return owner === "" ? [] : [[name, owner]];
    }),
  );
  return {
    id: id ?? text,
    texts: [{
      id: "",
      text,
      role: "note" as const,
      atMs: readTime(value["created_at"]) ?? readTime(value["updated_at"]),
      importance: typeof importance === "number" && importance >= 0 &&
          importance <= 1
        ? importance
        : undefined,
      metadata: { ...readMetadata(value["metadata"]), ...readMetadata(owners) },
    }],
  };
}
