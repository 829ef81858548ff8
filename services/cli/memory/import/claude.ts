/**
 * Reads conversations of Claude's export, `conversations.json`: a list of
 * objects with `chat_messages`.
 *
 * @module
 */

import {
  type ImportedText,
  type JsonFormat,
  readObjects,
  readText,
  readTime,
} from "./record.ts";

/** Claude's export. */
export const CLAUDE: JsonFormat = {
  name: "claude",
  fits: ({ chat_messages: messages }) => Array.isArray(messages),
  read(conversation) {
    const messages = readObjects(conversation["chat_messages"]);
    return {
      id: readText(conversation["uuid"]),
      texts: messages.map((message, at): ImportedText => ({
        id: readText(message["uuid"]) || String(at),
        text: messageText(message),
        role: message["sender"] === "human" ? "user" : "assistant",
        atMs: readTime(message["created_at"]),
      })),
    };
  },
};

/**
 * The text of a message: of its blocks, where newer exports have them, since
 * `text` also names what tools did.
 */
function messageText(message: Readonly<Record<string, unknown>>): string {
  const blocks = readObjects(message["content"])
    .filter(({ type }) => type === "text")
    .map(({ text }) => readText(text)).filter((text) => text !== "");
  return blocks.length > 0 ? blocks.join("\n\n") : readText(message["text"]);
}
