/**
 * Reads conversations with questions from a file in the format of LoCoMo: a
 * list of conversations, each with sessions of turns, and questions that name
 * the turns which answer them. The file itself is not part of the project; its
 * licence allows no commercial use.
 *
 * @module
 */

import type {
  CorpusMemory,
  CorpusNamespace,
  CorpusQuestion,
} from "./corpus.ts";

const SESSION = /^session_(\d+)$/;
const TURN_ID = /D(\d+):(\d+)/g;

/**
 * Reads the text of a file: a namespace for each conversation, a memory for
 * each turn (date, speaker, text, caption of a picture), and each question that
 * names at least one turn which exists.
 *
 * @throws {TypeError} when the text is not of that format
 */
export function parseConversations(text: string): readonly CorpusNamespace[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw formFault("it is no list");
  return value.map((sample: unknown, at) => {
    const conversation = memberOf(sample, "conversation");
    const questions = memberOf(sample, "qa");
    if (!isRecord(conversation) || !Array.isArray(questions)) {
      throw formFault(`entry ${at + 1} has no "conversation" or no "qa"`);
    }
    const memories = memoriesOf(conversation);
    const ids = new Set(memories.map(({ id }) => id));
    return {
      name: textOf(memberOf(sample, "sample_id")) ?? `conversation-${at + 1}`,
      memories,
      questions: questions.flatMap((entry) => questionOf(entry, ids)),
    };
  });
}

function memoriesOf(
  conversation: Readonly<Record<string, unknown>>,
): readonly CorpusMemory[] {
  const sessions = Object.keys(conversation)
    .flatMap((name) => {
      const number = SESSION.exec(name)?.[1];
      return number === undefined ? [] : [Number(number)];
    })
    .sort((left, right) => left - right);
  return sessions.flatMap((number) => {
    const turns = conversation[`session_${number}`];
    const date = textOf(conversation[`session_${number}_date_time`]);
    return Array.isArray(turns)
      ? turns.flatMap((turn) => memoryOf(turn, date))
      : [];
  });
}

function memoryOf(
  turn: unknown,
  date: string | undefined,
): readonly CorpusMemory[] {
  const id = textOf(memberOf(turn, "dia_id"));
  if (id === undefined) return [];
  const caption = textOf(memberOf(turn, "blip_caption"));
  const head = [date, textOf(memberOf(turn, "speaker"))]
    .filter((part) => part !== undefined).join(", ");
  const text = [
    `${head}: ${textOf(memberOf(turn, "text")) ?? ""}`,
    ...(caption === undefined ? [] : [`(picture: ${caption})`]),
  ].join(" ");
  return [{ id, text }];
}

/**
 * The evidence of a question may name several turns in one string, and turns
 * that do not exist.
 */
function questionOf(
  entry: unknown,
  ids: ReadonlySet<string>,
): readonly CorpusQuestion[] {
  const text = textOf(memberOf(entry, "question"));
  const evidence = memberOf(entry, "evidence");
  if (text === undefined || !Array.isArray(evidence)) return [];
  const named = evidence.flatMap((part) =>
    [...String(part).matchAll(TURN_ID)].map(([id]) => id)
  );
  const gold = [...new Set(named)].filter((id) => ids.has(id));
  const category = String(memberOf(entry, "category") ?? "none");
  return gold.length === 0 ? [] : [{ text, category, gold }];
}

function formFault(state: string): TypeError {
  return new TypeError(`Cannot read conversations: ${state}`);
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
