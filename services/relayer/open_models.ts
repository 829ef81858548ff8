/**
 * What makes vectors, finds facts and answers questions, as the settings name it.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import { CachedEmbedder } from "./embed/cached_embedder.ts";
import type { Embedder } from "./embed/embedder.ts";
import { HashedEmbedder } from "./embed/hashed_embedder.ts";
import { HttpEmbedder } from "./embed/http_embedder.ts";
import { ChatAnswerer } from "./extract/chat_answerer.ts";
import { ChatExtractor } from "./extract/chat_extractor.ts";
import type { Answerer, Extractor } from "./extract/extractor.ts";
import { HttpChat } from "./extract/http_chat.ts";
import { RuleAnswerer } from "./extract/rule_answerer.ts";
import { RuleExtractor } from "./extract/rule_extractor.ts";
import type { RelayerSettings } from "./settings.ts";

/** Models, or what stands in for them. */
export interface Models {
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds facts. */
  readonly extractor: Extractor;
  /** Answers questions. */
  readonly answerer: Answerer;
}

/**
 * Makes what the settings name; nothing is called yet.
 *
 * @throws {TypeError} when an address or a key cannot be used
 */
export function openModels(settings: RelayerSettings, clock: Clock): Models {
  return { embedder: embedderOf(settings, clock), ...chatOf(settings, clock) };
}

function embedderOf(settings: RelayerSettings, clock: Clock): Embedder {
  const { embeddingUrl, embeddingKey, embeddingModel: model } = settings;
  const { embeddingWidth: width, modelTimeoutMs: timeoutMs } = settings;
  if (embeddingUrl === "") return new HashedEmbedder({ width });
  // Questions come again; a call for each costs time and money.
  return new CachedEmbedder({
    embedder: new HttpEmbedder({
      baseUrl: embeddingUrl,
      ...keyOf(embeddingKey),
      model,
      width,
      timeoutMs,
      clock,
    }),
    clock,
  });
}

function chatOf(
  settings: RelayerSettings,
  clock: Clock,
): Pick<Models, "extractor" | "answerer"> {
  const { chatUrl, chatKey, chatModel, modelTimeoutMs } = settings;
  if (chatUrl === "") {
    return { extractor: new RuleExtractor(), answerer: new RuleAnswerer() };
  }
  const chat = new HttpChat({
    baseUrl: chatUrl,
    ...keyOf(chatKey),
    model: chatModel,
    timeoutMs: modelTimeoutMs,
    clock,
  });
  return {
    extractor: new ChatExtractor({ chat }),
    answerer: new ChatAnswerer({ chat }),
  };
}

function keyOf(key: string): { readonly apiKey?: string } {
  return key === "" ? {} : { apiKey: key };
}
