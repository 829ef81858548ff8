/**
 * The data that retrieval is measured with: memories, and questions that some
 * of the memories answer.
 *
 * @module
 */

/** A memory of the corpus. */
export interface CorpusMemory {
  /** The id of the memory, unique in its namespace. */
  readonly id: string;
  /** The text of the memory. */
  readonly text: string;
}

/** A question about the memories of its namespace. */
export interface CorpusQuestion {
  /** The question as it is asked. */
  readonly text: string;
  /** The kind of the question; each corpus has its own kinds. */
  readonly category: string;
  /** The ids of the memories that answer the question, one or more. */
  readonly gold: readonly string[];
}

/**
 * A set of memories that are searched together, and the questions about them.
 */
export interface CorpusNamespace {
  /** The name of the namespace. */
  readonly name: string;
  /** The memories, in the order in which they are written. */
  readonly memories: readonly CorpusMemory[];
  /** The questions about the memories. */
  readonly questions: readonly CorpusQuestion[];
}

/**
 * The project's own sets, all made for it.
 *
 * - `notes`: sentences about one household, and notes of many shapes in four
 *   languages. Questions of kind "words" share words with their answer, "forms"
 *   other forms of its words, "other" and "meaning" ask in other words;
 *   "several" need more than one memory; "crowd" have an answer among memories
 *   that share most of its words; "name" ask by an identifier, "date" by a date;
 *   "typo" have a name spelt wrong; "present" ask for the latest state of a fact
 *   that changed; "compound" join words that the memory has apart, or the other
 *   way round.
 * - `chats`: short messages, several in a row, with typos and without question
 *   marks; answers may come much later. "usual" questions are of people who were
 *   there, and speak of things by their usual names; "other" ones avoid the
 *   words of the chat. No weight was chosen on the last three, which are of
 *   another author.
 * - `changes`: facts that changed.
 */
export type OwnSet = "notes" | "chats" | "changes";

/**
 * A namespace as it is written down; a question has its kind, its text, and the
 * positions, from 1, of the memories that answer it.
 */
interface WrittenNamespace {
  readonly name: string;
  /**
   * The least number of digits in ids of memories, which decide among equals
   * and so change figures a little; 2 unless given.
   */
  readonly digits?: number;
  readonly memories: readonly string[];
  readonly questions: readonly (readonly [string, string, ...number[]])[];
}

/** Reads one of the project's own sets. */
export async function readOwnSet(
  name: OwnSet,
): Promise<readonly CorpusNamespace[]> {
  const file = new URL(`../data/${name}.json`, import.meta.url);
  const namespaces: readonly WrittenNamespace[] = JSON.parse(
    await Deno.readTextFile(file),
  );
  return namespaces.map(({ name, digits = 2, memories, questions }) => {
    const idAt = (place: number): string =>
      `m${String(place).padStart(digits, "0")}`;
    return {
      name,
      memories: memories.map((text, at) => ({ id: idAt(at + 1), text })),
      questions: questions.map(([category, text, ...gold]) => ({
        ...{ category, text, gold: gold.map(idAt) },
      })),
    };
  });
}

const SESSION = /^session_(\d+)$/;
const TURN_ID = /D(\d+):(\d+)/g;

/**
 * Reads conversations in the format of LoCoMo: a list of conversations, each
 * with sessions of turns, and questions that name the turns which answer them.
 * Its own file is not part of the project; its licence allows no commercial use.
 *
 * @returns A namespace for each conversation, with a memory for each turn
 * (date, speaker, text, caption of a picture), and each question that names at
 * least one turn which exists.
 * @throws {TypeError} When the text is not of that format.
 */
export function parseConversations(text: string): readonly CorpusNamespace[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw formFault("it is not a list");
  return value.map((sample: unknown, at) => {
    const conversation = member(sample, "conversation");
    const questions = member(sample, "qa");
    if (!isRecord(conversation) || !Array.isArray(questions)) {
      throw formFault(`entry ${at + 1} has no "conversation" or no "qa"`);
    }
    const memories = readTurns(conversation);
    const ids = new Set(memories.map(({ id }) => id));
    return {
      name: textMember(sample, "sample_id") ?? `conversation-${at + 1}`,
      memories,
      questions: questions.flatMap((entry) => readQuestion(entry, ids)),
    };
  });
}

function readTurns(
  conversation: Readonly<Record<string, unknown>>,
): readonly CorpusMemory[] {
  const sessions = Object.keys(conversation)
    .flatMap((name) => SESSION.exec(name)?.[1] ?? [])
    .sort((left, right) => Number(left) - Number(right));
  return sessions.flatMap((number) => {
    const turns = conversation[`session_${number}`];
    const date = textMember(conversation, `session_${number}_date_time`);
    return Array.isArray(turns)
      ? turns.flatMap((turn) => readTurn(turn, date))
      : [];
  });
}

function readTurn(
  turn: unknown,
  date: string | undefined,
): readonly CorpusMemory[] {
  const id = textMember(turn, "dia_id");
  if (id === undefined) return [];
  const caption = textMember(turn, "blip_caption");
  const head = [date, textMember(turn, "speaker")]
    .filter((part) => part !== undefined).join(", ");
  const text = [
    `${head}: ${textMember(turn, "text") ?? ""}`,
    ...(caption === undefined ? [] : [`(picture: ${caption})`]),
  ].join(" ");
  return [{ id, text }];
}

/**
 * The evidence of a question may name several turns in one string, and turns
 * that do not exist.
 */
function readQuestion(
  entry: unknown,
  ids: ReadonlySet<string>,
): readonly CorpusQuestion[] {
  const text = textMember(entry, "question");
  const evidence = member(entry, "evidence");
  if (text === undefined || !Array.isArray(evidence)) return [];
  const named = evidence.flatMap((part) =>
    [...String(part).matchAll(TURN_ID)].map(([id]) => id)
  );
  const gold = [...new Set(named)].filter((id) => ids.has(id));
  const category = String(member(entry, "category") ?? "none");
  return gold.length === 0 ? [] : [{ text, category, gold }];
}

function formFault(state: string): TypeError {
  return new TypeError(`Cannot read conversations: ${state}`);
}

function member(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function textMember(value: unknown, name: string): string | undefined {
  const text = member(value, name);
  return typeof text === "string" && text !== "" ? text : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
