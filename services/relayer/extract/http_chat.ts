/**
 * A client for chat completions of an OpenAI-compatible endpoint.
 *
 * @module
 */

import {
  ModelEndpoint,
  type ModelEndpointOptions,
} from "../embed/model_endpoint.ts";
import { getMember } from "../remote/http_call.ts";
import type { ModelFailure } from "./extractor.ts";

/** Options of {@linkcode HttpChat}. */
interface HttpChatOptions extends ModelEndpointOptions {
  /** The name of the model that is to answer. */
  readonly model: string;
}

/** A question to a model. */
interface ChatRequest {
  /** The system message: what the model is to do. */
  readonly instructions: string;
  /** The user message: the texts that the model is to work on. */
  readonly content: string;
  /** The sampling temperature, from 0 to 2: how much answers may vary. */
  readonly temperature: number;
  /** Ends the call early. */
  readonly signal?: AbortSignal | undefined;
}

/** The outcome of {@linkcode HttpChat.ask}. */
type ChatAnswer =
  | {
    readonly kind: "ok";
    /** The model's answer; never blank. */
    readonly text: string;
    /** Whether the answer was cut off at the limit of tokens. */
    readonly isCut: boolean;
  }
  | ModelFailure;

const MAX_ANSWER_TOKENS = 512;
const MAX_ANSWER_BYTES = 1_024 * 1_024;

/** Talks to a model behind an endpoint. */
export class HttpChat {
  /** The model's name. */
  readonly model: string;
  readonly #endpoint: ModelEndpoint;

  /**
   * A chat; nothing is sent yet.
   *
   * @throws {TypeError} when the address or the key cannot be used
   */
  constructor(options: HttpChatOptions) {
    this.model = options.model;
    this.#endpoint = new ModelEndpoint({
      maxAnswerBytes: MAX_ANSWER_BYTES,
      ...options,
    });
  }

  /**
   * Asks one question; returns an answer of at most 512 tokens. Never throws.
   */
  async ask(request: ChatRequest): Promise<ChatAnswer> {
    const { instructions, content, temperature, signal } = request;
    const answer = await this.#endpoint.post("/chat/completions", {
      body: {
        model: this.model,
        messages: [
          { role: "system", content: instructions },
          { role: "user", content },
        ],
        temperature,
        max_tokens: MAX_ANSWER_TOKENS,
      },
      signal,
    });
    if (answer.kind === "unavailable") {
      const { isPassing: _, reason, ...rest } = answer;
      return { ...rest, reason: `Cannot call model: ${reason}` };
    }
    const choices = getMember(answer.json, "choices");
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const text = getMember(getMember(choice, "message"), "content");
    if (typeof text !== "string" || text.trim() === "") {
      return {
        kind: "unavailable",
        reason: "Cannot call model: the answer has no text",
      };
    }
    const isCut = getMember(choice, "finish_reason") === "length";
    return { kind: "ok", text, isCut };
  }
}
