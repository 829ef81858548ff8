/**
 * An answerer that asks a model.
 *
 * @module
 */

import type { Answerer, AnswerOptions, ModelFailure } from "./extractor.ts";
import { Fence } from "./fence.ts";
import type { Chat } from "./http_chat.ts";
import { NO_ANSWER } from "./rule_answerer.ts";

/** Options of {@linkcode ChatAnswerer}. */
export interface ChatAnswererOptions {
  /** The model. */
  readonly chat: Chat;
  /**
   * Draws the mark of a fence.
   *
   * @default a random one
   */
  readonly random?: () => string;
}

const TEMPERATURE = 0.7;
/** Characters of all memories together that a model is given. */
const MAX_MEMORY_CHARS = 64_000;
const USED_LINE = /^[\s*"'`]*used[\s*"'`]*:(.*)$/i;

/** Answers questions by asking a model. */
export class ChatAnswerer implements Answerer {
  /** The model's name. */
  readonly name: string;
  readonly #options: ChatAnswererOptions;

  /** An answerer over a chat. */
  constructor(options: ChatAnswererOptions) {
    this.#options = options;
    this.name = options.chat.model;
  }

  /** The model's answer; without memories nobody is asked. */
  async answer(
    question: string,
    options: AnswerOptions,
  ): Promise<
    | {
      readonly kind: "ok";
      readonly answer: string;
      readonly used: readonly number[];
    }
    | ModelFailure
  > {
    const { chat, random } = this.#options;
    const { nowMs, signal } = options;
    if (options.memories.length === 0) {
      return { kind: "ok", answer: NO_ANSWER, used: [] };
    }
    const memories = numbered(options.memories);
    const fence = new Fence([question, memories], random);
    const answer = await chat.ask({
      instructions: `${INSTRUCTIONS}\n\n${fence.rule}`,
      content: [
        `It is ${new Date(nowMs).toISOString()}.`,
        fence.around("The memories, the closest first:", memories),
        fence.around("The question to be answered:", question),
      ].join("\n\n"),
      temperature: TEMPERATURE,
      signal,
    });
    if (answer.kind === "unavailable") return answer;
    // Half a surrogate pair is no text that clients can be sent.
    const text = answer.text.toWellFormed();
    return { kind: "ok", ...readAnswer(text, options.memories.length) };
  }
}

const INSTRUCTIONS =
  `You answer a question of somebody from what they had you remember.
Use only the memories you are given, and say that you do not know when they ` +
  `do not tell. A later memory counts more than an earlier one that says ` +
  `something else. Answer in the language of the question, in a few sentences.
End with a line of its own: the word USED, a colon, and the numbers of the ` +
  `memories that your answer rests on, or nothing after the colon.`;

/** Each in a line of its own, with its number and day. */
function numbered(memories: AnswerOptions["memories"]): string {
  const lines: string[] = [];
  let left = MAX_MEMORY_CHARS;
  for (const [at, { text, createdAtMs }] of memories.entries()) {
    const day = new Date(createdAtMs).toISOString().replace(/T.*/, "");
    if (left === 0) break;
    // Cut first: memories may be a thousand times as long as what is shown.
    const shown = text.slice(0, MAX_MEMORY_CHARS).replace(/\s+/g, " ")
      .slice(0, left).toWellFormed();
    left -= shown.length;
    if (shown !== "") lines.push(`${at + 1}. (${day}) ${shown}`);
  }
  return lines.join("\n");
}

/** Without a line that tells them, all memories count as used. */
function readAnswer(
  text: string,
  count: number,
): { readonly answer: string; readonly used: readonly number[] } {
  const lines = text.trim().split(/\r?\n/);
  const told = USED_LINE.exec(lines.at(-1) ?? "");
  const answer = told === null ? "" : lines.slice(0, -1).join("\n").trim();
  if (told === null || answer === "") {
    return {
      answer: text.trim(),
      used: Array.from({ length: count }, (_, at) => at),
    };
  }
  const numbers = (told[1] ?? "").match(/\d+/g)?.map(Number) ?? [];
  const places = numbers.filter((number) => number >= 1 && number <= count)
    .map((number) => number - 1);
  return { answer, used: [...new Set(places)] };
}
