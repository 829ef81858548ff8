/**
 * An extractor that asks a model.
 *
 * @module
 */

import type {
  ExtractOptions,
  Extractor,
  Fact,
  ModelFailure,
} from "./extractor.ts";
import { MAX_FACTS } from "./extractor.ts";
import { NONE, parseFactLines } from "./fact_lines.ts";
import { Fence } from "./fence.ts";
import type { Chat } from "./http_chat.ts";

/** Options of {@linkcode ChatExtractor}. */
export interface ChatExtractorOptions {
  /** The model. */
  readonly chat: Chat;
  /**
   * Draws the mark of a fence.
   *
   * @default a random one
   */
  readonly random?: () => string;
}

const TEMPERATURE = 0.1;

/** Finds facts by asking a model. */
export class ChatExtractor implements Extractor {
  /** The model's name. */
  readonly name: string;
  readonly #options: ChatExtractorOptions;

  /** An extractor over a chat. */
  constructor(options: ChatExtractorOptions) {
    this.#options = options;
    this.name = options.chat.model;
  }

  /** Facts as the model writes them down. */
  async extract(
    text: string,
    options: ExtractOptions,
  ): Promise<
    { readonly kind: "ok"; readonly facts: readonly Fact[] } | ModelFailure
  > {
    const { chat, random } = this.#options;
    const { known, nowMs, occurredAtMs = nowMs, signal } = options;
    const fence = new Fence([text, ...known], random);
    const answer = await chat.ask({
      instructions: `${INSTRUCTIONS}\n\n${fence.rule}`,
      content: [
        `The text was said on ${new Date(occurredAtMs).toISOString()}.`,
        ...(known.length === 0 ? [] : [
          fence.around("Remembered already:", known.join("\n")),
        ]),
        fence.around("The text:", text),
      ].join("\n\n"),
      temperature: TEMPERATURE,
      signal,
    });
    if (answer.kind === "unavailable") return answer;
    const facts = parseFactLines(answer.text, { known, isCut: answer.isCut });
    return facts === undefined
      ? {
        kind: "unavailable",
        reason: "Cannot read facts: the model did not answer in the form " +
          "it was asked for",
      }
      : { kind: "ok", facts };
  }
}

const INSTRUCTIONS = `You keep a memory for an application. ` +
  `Find the lasting facts in a text: what people in it say of themselves or ` +
  `of each other, what they prefer, own, plan or have decided, where they live ` +
  `and work, and who belongs to them.
Leave out greetings, questions, guesses, moods of the moment, general ` +
  `knowledge, and everything that is remembered already.
Write each fact as one short sentence in the language of the text that can be ` +
  `understood without it: names for pronouns, dates for words such as "tomorrow".
Answer with one fact in a line and nothing else: one of the words core ` +
  `(identity, health, family, home, work), useful (preferences, plans, ` +
  `decisions, possessions) or minor (the rest), then a tab, then the fact. ` +
  `At most ${MAX_FACTS} lines, the most important facts first.
If there is no such fact, answer with the single word ${NONE}.`;
