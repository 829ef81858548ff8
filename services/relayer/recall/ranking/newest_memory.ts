/**
 * Facts change: of memories that fit a question alike, where one of them tells
 * that something changed, the newest comes first.
 *
 * @module
 */

import type { SearchedWord, WordHit } from "./postings.ts";
import { isOfSelf } from "./turn_signs.ts";

/**
 * The share of what the best one's words score that memories which fit alike
 * have at least.
 */
const MIN_SHARE = 0.5;
/**
 * The share of the question's words that they have at least: what shares less
 * is about different things.
 */
const MIN_MATCHED_SHARE = 0.7;
/** Most memories of one fact; more are about different things as well. */
const MAX_ALIKE = 8;
/** What the newest scores above the others. */
const MARGIN = 0.01;

/** The newest of memories that fit alike. */
export interface NewestMemory {
  /** Its id. */
  readonly id: string;
  /** The memories that it comes before. */
  readonly before: readonly string[];
}

/** A memory with its score. */
interface Scored {
  readonly id: string;
  readonly score: number;
  readonly parts: Readonly<Record<string, number>>;
}

/** What was found for a question that asks for what holds now. */
interface NewestSearch {
  /** The memories, the best first. */
  readonly memories: readonly Scored[];
  /** What words found of each. */
  readonly hits: readonly WordHit[];
  /** The question's words, without names of speakers. */
  readonly words: readonly SearchedWord[];
  /** Whether a memory has one of the terms itself. */
  readonly has: (id: string, terms: readonly string[]) => boolean;
  /** Who speaks in a memory, where it is a turn of a conversation. */
  readonly findSpeaker: (id: string) => unknown;
}

/**
 * The newest of the memories that have the same words of a question as the best
 * one, and the same speaker, where one of them tells that something changed. A
 * question of who asks ("Where do I live?") is answered by who speaks of
 * themselves.
 */
export function findNewest(
  question: string,
  { memories, hits, words, has, findSpeaker }: NewestSearch,
): NewestMemory | undefined {
  const ofSelf = isOfSelf(question);
  const hitById = new Map(hits.map((hit) => [hit.id, hit]));
  const told = memories.filter(({ id }) => {
    const signs = hitById.get(id)?.signs;
    return signs?.isQuestion === false && (!ofSelf || signs.isOfSelf);
  });
  const [first] = told;
  if (first === undefined) return undefined;
  const findMatches = (id: string): readonly SearchedWord[] =>
    words.filter(({ terms, near = [] }) => has(id, terms) || has(id, near));
  const matched = findMatches(first.id);
  if (matched.length === 0) return undefined;
  if (matched.length < MIN_MATCHED_SHARE * words.length) return undefined;
  const least = MIN_SHARE * getWordScore(first);
  const fits = (memory: Scored): boolean => {
    if (getWordScore(memory) < least) return false;
    const match = findMatches(memory.id);
    return match.length === matched.length &&
      match.every((word, at) => word === matched[at]);
  };
  const speaker = findSpeaker(first.id);
  const alike = told.filter((memory) =>
    findSpeaker(memory.id) === speaker && fits(memory)
  ).flatMap(({ id }) => hitById.get(id) ?? []);
  if (alike.length < 2 || alike.length > MAX_ALIKE) return undefined;
  if (!alike.some(({ signs }) => signs.tellsChange)) return undefined;
  const newest = alike.reduce((one, other) =>
    isNewer(other, one) ? other : one
  );
  return {
    id: newest.id,
    before: memories.filter(fits).flatMap(({ id }) =>
      id === newest.id ? [] : [id]
    ),
  };
}

/**
 * Memories, the best first, where the newest one comes before those it is newer
 * than; what it gets for that counts as recency.
 */
export function newestFirst<Memory extends Scored>(
  memories: readonly Memory[],
  newest: NewestMemory | undefined,
): readonly Memory[] {
  const at = memories.findIndex(({ id }) => id === newest?.id);
  const found = memories[at];
  if (newest === undefined || found === undefined) return memories;
  const older = new Set(newest.before);
  const best = memories.findIndex(({ id }) => older.has(id));
  const above = memories[best];
  if (above === undefined || best > at) return memories;
  const score = above.score + MARGIN;
  const recency = (found.parts["recency"] ?? 0) + score - found.score;
  const raised = { ...found, score, parts: { ...found.parts, recency } };
  return memories.toSpliced(at, 1).toSpliced(best, 0, raised)
    .sort((one, other) => other.score - one.score);
}

/** What a memory scores by its words alone. */
function getWordScore({ parts }: Scored): number {
  return parts["words"] ?? 0;
}

function isNewer(one: WordHit, other: WordHit): boolean {
  return one.createdAtMs > other.createdAtMs ||
    one.createdAtMs === other.createdAtMs && one.id > other.id;
}
