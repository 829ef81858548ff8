/**
 * The third development set: chats as people write them, in short messages,
 * several in a row, with typos and without question marks; answers may come
 * much later. All were made for this project. Those who ask do not remember the
 * words.
 *
 * @module
 */

import type { ChatNamespace, CorpusNamespace } from "../corpus.ts";
import { COUPLE, FRIENDS, TENANT, WORK } from "./english_chats.ts";
import { CLUB, FAMILY, SEOUL } from "./other_chats.ts";

const CHATS: readonly ChatNamespace[] = [
  FRIENDS,
  COUPLE,
  WORK,
  TENANT,
  CLUB,
  FAMILY,
  SEOUL,
];

const HEAD = /^(?:\[[^\]]*\] )?[^:]*: /;
const BETWEEN_MESSAGES = " / ";
const GOLD = / #(\d+)/g;

/** Returns the third development set. */
export function chatsCorpus(): readonly CorpusNamespace[] {
  return CHATS.map(namespaceOf);
}

function namespaceOf(
  { name, messages, usual, other }: ChatNamespace,
): CorpusNamespace {
  const marked = linesOf(messages).flatMap((line) => {
    const [head = ""] = HEAD.exec(line) ?? [];
    return line.slice(head.length).split(BETWEEN_MESSAGES)
      .map((message) => head + message);
  }).map((text, at) => ({
    id: `m${at + 1}`,
    text: text.replaceAll(GOLD, ""),
    facts: [...text.matchAll(GOLD)].map(([, number]) => Number(number)),
  }));
  return {
    name,
    memories: marked.map(({ id, text }) => ({ id, text })),
    questions: Object.entries({ usual, other }).flatMap(([category, asked]) =>
      linesOf(asked).map((line) => {
        const [fact = ""] = line.split(" ", 1);
        return {
          ...{ category, text: line.slice(fact.length + 1) },
          gold: marked.flatMap(({ id, facts }) =>
            facts.includes(Number(fact)) ? [id] : []
          ),
        };
      })
    ),
  };
}

function linesOf(text: string): readonly string[] {
  return text.trim().split("\n");
}
