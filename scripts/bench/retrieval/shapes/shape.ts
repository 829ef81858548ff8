/**
 * The second development set: texts of other shapes than conversations, and in
 * other languages. All texts were made for this project.
 *
 * The kinds of questions: "words" share words with their answer, "other" ask in
 * other words, "several" need more than one memory, "name" ask by an
 * identifier, "date" by a date, "typo" have a name spelt wrong, "present" ask
 * for the latest state of a fact that changed, "compound" join words that the
 * memory has apart, or the other way round.
 *
 * @module
 */

import type { CorpusNamespace, ShapeNamespace } from "../corpus.ts";
import { FACTS_ABROAD, MY_FACTS, USER_FACTS } from "./changing_facts.ts";
import { ASSISTANT, CUSTOMERS, KITCHEN, TRIPS } from "./english_lists.ts";
import {
  CHANGES,
  ENGINEERING,
  MEETINGS,
  PERSONAL,
  TICKETS,
} from "./english_notes.ts";
import { GERMAN_CHAT, GERMAN_DIARY, GERMAN_FACTS } from "./german_notes.ts";
import {
  AGENT_LOG,
  GROUP_CHAT,
  LABELLED_NOTES,
  LONG_NOTES,
  TWO_LANGUAGES,
} from "./mixed_notes.ts";
import { FRENCH_NOTES, SPANISH_NOTES } from "./romance_notes.ts";
import { FLATMATES, KOREAN_FRIENDS, SISTERS } from "./real_chats.ts";

const SHAPES: readonly ShapeNamespace[] = [
  PERSONAL,
  TICKETS,
  MEETINGS,
  ENGINEERING,
  CHANGES,
  CUSTOMERS,
  TRIPS,
  KITCHEN,
  ASSISTANT,
  LONG_NOTES,
  LABELLED_NOTES,
  GROUP_CHAT,
  AGENT_LOG,
  GERMAN_FACTS,
  GERMAN_DIARY,
  GERMAN_CHAT,
  FRENCH_NOTES,
  SPANISH_NOTES,
  TWO_LANGUAGES,
];

/** Returns the second development set. */
export function shapesCorpus(): readonly CorpusNamespace[] {
  return namespacesOf(SHAPES);
}

/** Returns the set of facts that changed. */
export function changesCorpus(): readonly CorpusNamespace[] {
  return namespacesOf([MY_FACTS, USER_FACTS, FACTS_ABROAD]);
}

/**
 * Returns three more chats, of another author than the first seven: no weight
 * was chosen on them.
 */
export function otherChatsCorpus(): readonly CorpusNamespace[] {
  return namespacesOf([FLATMATES, SISTERS, KOREAN_FRIENDS]);
}

function namespacesOf(
  shapes: readonly ShapeNamespace[],
): readonly CorpusNamespace[] {
  return shapes.map(({ name, memories, questions }) => ({
    name,
    memories: memories.map((text, at) => ({ id: idOf(at + 1), text })),
    questions: questions.map(([category, text, ...gold]) => ({
      ...{ category, text },
      gold: gold.map(idOf),
    })),
  }));
}

function idOf(place: number): string {
  return `m${String(place).padStart(2, "0")}`;
}
