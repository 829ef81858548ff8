/**
 * What a model with memory does against a real relayer and a chat server, in whatever
 * runtime runs it.
 *
 * @module
 */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { withMem } from "../../sdk/ai.ts";

/** What it is made with. */
export interface AiRoundTripOptions {
  /** The relayer. */
  readonly serverUrl: string;
  /** The delegate's private key. */
  readonly key: string;
  /** The account. */
  readonly accountId: string;
  /** The chat server. */
  readonly chatUrl: string;
}

/**
 * Says something, asks for it until the model is told of it, and then once more as a
 * stream.
 *
 * @returns What the model was asked with, and what it answered.
 */
export async function aiRoundTrip(
  { serverUrl, key, accountId, chatUrl }: AiRoundTripOptions,
): Promise<{ readonly system: string; readonly streamed: string }> {
  const provider = createOpenAICompatible({ name: "stub", baseURL: chatUrl });
  // All else is as the defaults have it.
  const model = withMem(provider.chatModel("echo"), {
    serverUrl,
    key,
    accountId,
  });
  await generateText({ model, prompt: "My dog is called Bello." });
  await model.flush();
  const prompt = "What is my dog called?";
  let system = "";
  while (!system.includes("Bello")) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    // The server answers with the system message that it got.
    ({ text: system } = await generateText({ model, prompt }));
  }
  let streamed = "";
  for await (const part of streamText({ model, prompt }).textStream) {
    streamed += part;
  }
  await model.flush();
  return { system, streamed };
}
