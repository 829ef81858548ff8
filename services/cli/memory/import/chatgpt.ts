/**
 * Reads conversations of ChatGPT's export, `conversations.json`: a list of
 * objects whose `mapping` is a tree of messages. Of answers that were made
 * again, the branch that the conversation ended with is read.
 *
 * @module
 */

import { isJsonObject } from "../../../shared/schema/schema.ts";
import {
  type ImportedText,
  type JsonFormat,
  readText,
  readTime,
} from "./record.ts";

/** ChatGPT's export. */
export const CHATGPT: JsonFormat = {
  name: "chatgpt",
  fits: ({ mapping }) => isJsonObject(mapping),
  read(conversation) {
    const { mapping, current_node: last, conversation_id, id } = conversation;
    return {
      id: readText(conversation_id) || readText(id),
      texts: isJsonObject(mapping)
        ? branch(mapping, last).flatMap(readMessage)
        : [],
    };
  },
};

/** The nodes from the root to the last one; each once, also in a circle. */
function branch(
  mapping: Readonly<Record<string, unknown>>,
  last: unknown,
): readonly Readonly<Record<string, unknown>>[] {
  const nodes: Readonly<Record<string, unknown>>[] = [];
  const seen = new Set<string>();
  let at = typeof last === "string" && Object.hasOwn(mapping, last)
    ? last
    : Object.keys(mapping).at(-1);
  while (at !== undefined && !seen.has(at)) {
    seen.add(at);
    const node = Object.hasOwn(mapping, at) ? mapping[at] : undefined;
    if (!isJsonObject(node)) break;
    nodes.unshift(node);
    at = typeof node["parent"] === "string" ? node["parent"] : undefined;
  }
  return nodes;
}

function readMessage(
  { id: nodeId, message }: Readonly<Record<string, unknown>>,
): readonly ImportedText[] {
  if (!isJsonObject(message)) return [];
  const { author, content, create_time, id } = message;
  const role = isJsonObject(author) ? author["role"] : undefined;
  if (role !== "user" && role !== "assistant") return [];
  if (!isJsonObject(content)) return [];
  const { content_type: type, parts } = content;
  // Thoughts, code that tools ran and their output are no messages.
  if (type !== "text" && type !== "multimodal_text") return [];
  const text = (Array.isArray(parts) ? parts : []).map(readText)
    .filter((part) => part !== "").join("\n\n");
  return [{
    id: readText(id) || readText(nodeId),
    text,
    role,
    atMs: readTime(create_time),
  }];
}
