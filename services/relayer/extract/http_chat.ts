/**
 * Chat completions of an OpenAI-compatible endpoint.
 *
 * @module
 */

import {
  ModelEndpoint,
  type ModelEndpointOptions,
} from "../embed/model_endpoint.ts";
import { memberOf } from "../remote/http_call.ts";
import type { ModelFailure } from "./extractor.ts";

/** Options of {@linkcode HttpChat}. */
interface HttpChatOptions extends ModelEndpointOptions {
  /** The model it is asked for. */
  readonly model: string;
}

/** What is said to a model. */
interface ChatRequest {
  /** What it is to do. */
  readonly instructions: string;
  /** What it is to do that with. */
  readonly content: string;
  /** How free it is, 0 to 2. */
  readonly temperature: number;
  /** Ends the call early. */
  readonly signal?: AbortSignal | undefined;
}

/** What a model says. */
type ChatAnswer =
  | {
    readonly kind: "ok";
    /** Its words; never empty. */
    readonly text: string;
    /** Whether it was cut off before its end. */
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

  /** One question, one answer of at most 512 tokens. */
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
      return { ...rest, reason: `Cannot ask model: ${reason}` };
    }
    const choices = memberOf(answer.json, "choices");
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const text = memberOf(memberOf(choice, "message"), "content");
    if (typeof text !== "string" || text.trim() === "") {
      return {
        kind: "unavailable",
        reason: "Cannot ask model: the answer has no text",
      };
    }
    const isCut = memberOf(choice, "finish_reason") === "length";
    return { kind: "ok", text, isCut };
  }
}
