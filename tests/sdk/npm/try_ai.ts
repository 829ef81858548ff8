/**
 * Tests `withMem` with each version of the AI SDK and of its models: what an
 * application gets is what it gets without memory.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { bundle } from "../bundle.ts";
import { NpmProject } from "./npm_project.ts";

/** The versions of models that each version of the package takes. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  "5": ["v2"],
  "6": ["v2", "v3"],
  "7": ["v2", "v3", "v4"],
};

/**
 * Runs models of the given versions with and without memory, and writes what
 * came out and what the models were asked.
 */
const PROGRAM = `
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { withMem } from "./ai.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const mem = {
  recall: async () => ({
    results: [{ id: "m", text: "Ada drinks tea.", distance: 0.1 }],
    total: 1,
  }),
  analyze: async () => ({ fact_count: 0 }),
};

function modelOf(version) {
  const isOld = version === "v2";
  const reason = (name) => isOld ? name : { unified: name, raw: name };
  const usage = isOld
    ? { inputTokens: 3, outputTokens: 4, totalTokens: 7 }
    : {
      inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 4, text: 4, reasoning: 0 },
    };
  const asked = [];
  const model = {
    specificationVersion: version,
    provider: "test",
    modelId: "test",
    supportedUrls: {},
    async doGenerate({ prompt, tools = [] }) {
      asked.push(prompt);
      const isCall = tools.length > 0 && prompt.at(-1).role === "user";
      return {
        content: isCall
          ? [{ type: "tool-call", toolCallId: "1", toolName: "now", input: "{}" }]
          : [{ type: "text", text: "Tea." }],
        finishReason: reason(isCall ? "tool-calls" : "stop"),
        usage,
        warnings: [],
      };
    },
    async doStream({ prompt }) {
      asked.push(prompt);
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Tea." },
        { type: "text-end", id: "1" },
        { type: "finish", finishReason: reason("stop"), usage },
      ];
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
  return { model, asked };
}

const prompt = "What does Ada drink?";
const tools = {
  now: tool({
    description: "The time",
    inputSchema: jsonSchema({ type: "object", properties: {} }),
    execute: async () => "noon",
  }),
};

async function outcomesOf(model) {
  const plain = await generateText({ model, prompt });
  const looped = await generateText({
    model, prompt, tools, stopWhen: stepCountIs(3),
  });
  const streamed = streamText({ model, prompt });
  let text = "";
  for await (const part of streamed.textStream) text += part;
  return {
    generate: [plain.text, plain.finishReason, plain.usage],
    tools: [
      looped.text,
      looped.finishReason,
      looped.usage,
      looped.steps.map(({ finishReason }) => finishReason),
    ],
    stream: [text, await streamed.finishReason, await streamed.usage],
  };
}

const report = {};
for (const version of process.argv.slice(2)) {
  const without = modelOf(version);
  const { model, asked } = modelOf(version);
  const remembering = withMem(model, { mem });
  report[version] = {
    without: await outcomesOf(without.model),
    withMem: await outcomesOf(remembering),
    sawMemory: asked.map((one) => JSON.stringify(one).includes("drinks tea")),
  };
  await remembering.flush();
}
console.log(JSON.stringify(report));
`;

Deno.test({
  name: "withMem() changes nothing but the prompt",
  timeout: 240_000,
  async fn(t) {
    for (const [version, models] of Object.entries(TAKEN)) {
      await t.step(
        `with ai ${version} and models ${models.join(", ")}`,
        async () => {
          await using project = await NpmProject.make();
          await project.install(`ai@${version}`);
          await bundle("sdk/ai.ts", { into: `${project.folder}/ai.js` });
          await project.write("program.mjs", PROGRAM);
          const text = await project.run("node", ["program.mjs", ...models]);
          const report = JSON.parse(text);
          assertEquals(Object.keys(report), models);
          for (
            const { without, withMem, sawMemory } of Object.values<
              Readonly<Record<"without" | "withMem" | "sawMemory", unknown>>
            >(report)
          ) {
            assertEquals(withMem, without);
            assert(Array.isArray(sawMemory) && sawMemory.length === 4);
            assert(sawMemory.every((saw) => saw === true), text);
          }
          const [first] = Object.values<
            { readonly withMem: { readonly tools: readonly unknown[] } }
          >(report);
          assertEquals(first?.withMem.tools[3], ["tool-calls", "stop"]);
        },
      );
    }
  },
});
