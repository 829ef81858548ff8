/**
 * What makes vectors, finds facts and answers questions.
 *
 * @module
 */

import {
  durationSetting,
  integerSetting,
  secretSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Models";

/** The settings of this group, by the name the service knows them under. */
export const modelSettings = {
  embeddingUrl: textSetting({
    name: "EMBEDDING_API_BASE",
    default: "",
    group: GROUP,
    help: "OpenAI-compatible endpoint that makes vectors, such as " +
      "https://api.example/v1. The built-in embedder is used when empty: it " +
      "needs nothing and finds words, not meanings.",
  }),
  embeddingKey: secretSetting({
    name: "EMBEDDING_API_KEY",
    default: "",
    group: GROUP,
    help: "Its bearer token.",
  }),
  embeddingModel: textSetting({
    name: "EMBEDDING_MODEL",
    default: "text-embedding-3-small",
    group: GROUP,
    help: "The model it is asked for. Restore after changing it.",
  }),
  embeddingWidth: integerSetting({
    name: "EMBEDDING_WIDTH",
    default: 1_536,
    min: 1,
    max: 8_192,
    group: GROUP,
    help:
      "How many numbers its vectors have; those of other widths are refused.",
  }),
  chatUrl: textSetting({
    name: "CHAT_API_BASE",
    default: "",
    group: GROUP,
    help: "OpenAI-compatible endpoint that finds facts and answers " +
      "questions. Built-in rules do it when empty.",
  }),
  chatKey: secretSetting({
    name: "CHAT_API_KEY",
    default: "",
    group: GROUP,
    help: "Its bearer token.",
  }),
  chatModel: textSetting({
    name: "CHAT_MODEL",
    default: "gpt-4o-mini",
    group: GROUP,
    help: "The model it is asked for.",
  }),
  modelTimeoutMs: durationSetting({
    name: "MODEL_TIMEOUT",
    default: "20s",
    min: "100ms",
    group: GROUP,
    help: "How long an endpoint of models has for an answer.",
  }),
};
