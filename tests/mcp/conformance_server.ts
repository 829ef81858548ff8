/**
 * A server with the tools, resources and prompts that the conformance suite of
 * the Model Context Protocol asks for, on the kit of the services.
 *
 * @module
 */

import { systemClock } from "../../services/shared/clock.ts";
import { Http1Server } from "../../services/shared/http1/server.ts";
import {
  defineTool,
  errorResult,
  type McpCall,
  type McpCatalog,
  type McpContent,
  type McpTool,
  type ToolResult,
} from "../../services/shared/mcp/catalog.ts";
import { McpEndpoint } from "../../services/shared/mcp/http_endpoint.ts";
import { McpServer } from "../../services/shared/mcp/server.ts";
import { object } from "../../services/shared/schema/object.ts";
import type { JsonSchema } from "../../services/shared/schema/schema.ts";
import { RecordingLogger } from "../support/recording_logger.ts";

/** A picture of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/** A sound of no length. */
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const TEXT: McpContent = {
  type: "text",
  text: "This is a simple text response for testing.",
};
const IMAGE: McpContent = { type: "image", data: PIXEL, mimeType: "image/png" };
const AUDIO: McpContent = {
  type: "audio",
  data: SILENCE,
  mimeType: "audio/wav",
};

function embedded(uri: string): McpContent {
  return {
    type: "resource",
    resource: {
      uri,
      mimeType: "text/plain",
      text: "Embedded resource content for testing.",
    },
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => void systemClock.setTimer(resolve, 50));
}

async function sendLogs({ notify }: McpCall<undefined>): Promise<ToolResult> {
  for (const data of ["started", "processing", "completed"]) {
    notify("notifications/message", { level: "info", data });
    await pause();
  }
  return { content: [TEXT] };
}

async function sendProgress(
  { progress }: McpCall<undefined>,
): Promise<ToolResult> {
  for (const done of [0, 50, 100]) {
    progress(done, { total: 100 });
    await pause();
  }
  return { content: [TEXT] };
}

/** What each tool without arguments does. */
const RUNS: Readonly<
  Record<string, (call: McpCall<undefined>) => ToolResult | Promise<ToolResult>>
> = {
  test_simple_text: () => ({ content: [TEXT] }),
  test_image_content: () => ({ content: [IMAGE] }),
  test_audio_content: () => ({ content: [AUDIO] }),
  test_embedded_resource: () => ({ content: [embedded("test://embedded")] }),
  test_multiple_content_types: () => ({
    content: [TEXT, IMAGE, embedded("test://mixed-content-resource")],
  }),
  test_tool_with_logging: sendLogs,
  test_tool_with_progress: sendProgress,
  test_error_handling: () =>
    errorResult("This tool intentionally returns an error for testing"),
  test_reconnection: sendLogs,
};

const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { type: "object", properties: { city: {} } } },
  properties: { address: { $ref: "#/$defs/address" } },
  additionalProperties: false,
};

function catalog(): McpCatalog<undefined> {
  const tools: McpTool<undefined>[] = Object.entries(RUNS).map(
    ([name, run]) =>
      defineTool({
        ...{ name, title: name, description: name },
        annotations: { readOnlyHint: true },
        input: object({}),
        run: async (_, call) => await run(call),
      }),
  );
  const [first] = tools;
  if (first === undefined) throw new Error("Cannot serve: there are no tools");
  const message = (content: McpContent) => ({ role: "user" as const, content });
  return {
    info: { name: "conformance", title: "Conformance", version: "1.0.0" },
    instructions: "For tests alone",
    sendsLogs: true,
    tools: [...tools, {
      ...first,
      name: "json_schema_2020_12_tool",
      // Keywords that no tool of the services has are passed on as well.
      input: SCHEMA as JsonSchema,
    }],
    resources: {
      templates: [{
        uriTemplate: "test://template/{id}/data",
        name: "template",
      }],
      list: () =>
        Promise.resolve({
          resources: ["test://static-text", "test://static-binary"]
            .map((uri) => ({ uri, name: uri, description: uri })),
        }),
      read(uri) {
        const id = /^test:\/\/template\/(\w+)\/data$/.exec(uri)?.[1];
        const content = id !== undefined
          ? { mimeType: "application/json", text: JSON.stringify({ id }) }
          : uri === "test://static-text"
          ? { mimeType: "text/plain", text: "This is a static text." }
          : uri === "test://static-binary"
          ? { mimeType: "image/png", blob: PIXEL }
          : undefined;
        return Promise.resolve(content && { uri, ...content });
      },
    },
    prompts: [
      {
        ...{ name: "test_simple_prompt", title: "A", description: "Simple" },
        arguments: [],
        get: () => Promise.resolve([message(TEXT)]),
      },
      {
        ...{ name: "test_prompt_with_arguments", title: "B", description: "B" },
        arguments: ["arg1", "arg2"].map((name) => ({
          ...{ name, description: name, required: true },
        })),
        get: ({ arg1, arg2 }) =>
          Promise.resolve([message({
            type: "text",
            text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
          })]),
      },
      {
        name: "test_prompt_with_embedded_resource",
        ...{ title: "C", description: "With a resource" },
        arguments: [{
          ...{ name: "resourceUri", description: "URI", required: true },
        }],
        get: ({ resourceUri = "" }) =>
          Promise.resolve([message(embedded(resourceUri)), message(TEXT)]),
      },
      {
        ...{ name: "test_prompt_with_image", title: "D", description: "D" },
        arguments: [],
        get: () => Promise.resolve([message(IMAGE), message(TEXT)]),
      },
    ],
  };
}

/** A server of the tests, by its URL. */
export interface ConformanceServer extends AsyncDisposable {
  /** The endpoint. */
  readonly url: string;
}

/** Starts the server; every caller may call, from pages of this machine alone. */
export async function startConformanceServer(): Promise<ConformanceServer> {
  const clock = systemClock;
  const endpoint = new McpEndpoint<undefined>({
    server: new McpServer({ catalog: catalog(), clock }),
    paths: { endpoint: "/mcp" },
    clock,
    newId: () => crypto.randomUUID(),
    maxPerGroup: 1_000,
    newPerMinute: 1_000,
    door: {
      isOriginAllowed: (origin) =>
        /^http:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?$/.test(origin),
      clientGroup: ({ peer }) => peer.address,
      enter: () =>
        Promise.resolve({
          kind: "ok",
          owner: new Uint8Array(32),
          context: () => undefined,
          verify: () => Promise.resolve(undefined),
        }),
    },
  });
  const server = new Http1Server({
    hostname: "127.0.0.1",
    port: 0,
    handler: (request) =>
      endpoint.answer(request) ?? { status: 404, headers: {} },
    logger: new RecordingLogger(),
    clock,
  });
  const { port } = await server.start();
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      endpoint.end();
      await server.stop(1_000);
    },
  };
}
