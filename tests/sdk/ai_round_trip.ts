/**
 * A program that uses a language model with memory against a real relayer and a
 * chat server, in any JavaScript runtime.
 *
 * @module
 */

import { createOpenAICompatible } from "npm:@ai-sdk/openai-compatible@^3.0.0";
import { generateText, streamText } from "ai";
import { withMem } from "../../sdk/ai.ts";

/** The servers and credentials that the program uses. */
export interface AiRoundTripOptions {
  /** The URL of the relayer. */
  readonly serverUrl: string;
  /** The delegate's private key. */
  readonly key: string;
  /** The id of the account. */
  readonly accountId: string;
  /** The URL of the chat server. */
  readonly chatUrl: string;
}

/**
 * Tells the model a fact, asks for the fact until the model's system message
 * contains it, and then asks once more as a stream.
 *
 * @returns The system message that the model got, and the streamed answer.
 */
export async function aiRoundTrip(
  { serverUrl, key, accountId, chatUrl }: AiRoundTripOptions,
): Promise<{ readonly system: string; readonly streamed: string }> {
  const provider = createOpenAICompatible({ name: "stub", baseURL: chatUrl });
  // All other options have their defaults.
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
    // The chat server answers with the system message that it received.
    ({ text: system } = await generateText({ model, prompt }));
  }
  let streamed = "";
  for await (const part of streamText({ model, prompt }).textStream) {
    streamed += part;
  }
  await model.flush();
  return { system, streamed };
}
