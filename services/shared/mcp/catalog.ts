/**
 * What a server of the Model Context Protocol offers, as tables: tools,
 * resources and prompts. `Context` is what they work with on behalf of a
 * caller, such as a client of the memories.
 *
 * @module
 */

import { readWhole, type Schema } from "../schema/schema.ts";
import type { JsonSchema } from "../schema/schema.ts";
import type { RpcParams } from "./messages.ts";

/** A call of a tool, a resource or a prompt. */
export interface McpCall<Context> {
  /** What the call works with, on behalf of its caller. */
  readonly context: Context;
  /** Aborts when the client cancels the call, goes away, or time is up. */
  readonly signal: AbortSignal;
  /**
   * Tells how far the call is; nothing happens when the client did not ask.
   * `done` has to grow with each call.
   */
  readonly progress: (
    done: number,
    of?: { readonly total?: number; readonly message?: string },
  ) => void;
  /** Sends a notification that belongs to the call. */
  readonly notify: (method: string, params: RpcParams) => void;
}

/** A piece of what a tool or a prompt returns. */
export type McpContent =
  | { readonly type: "text"; readonly text: string }
  | {
    readonly type: "image" | "audio";
    /** The bytes in base64. */
    readonly data: string;
    readonly mimeType: string;
  }
  | { readonly type: "resource"; readonly resource: McpResourceContent };

/** What a tool returns. */
export interface ToolResult {
  /** What the model reads. */
  readonly content: readonly McpContent[];
  /**
   * The same for programs, as the tool's `output` describes it.
   *
   * @default none
   */
  readonly structuredContent?: RpcParams;
  /**
   * Whether the tool could not do what was asked. The content says why.
   *
   * @default {false}
   */
  readonly isError?: boolean;
}

/** Hints about a tool, by which clients decide whether to ask a person. */
export interface ToolAnnotations {
  /** Whether it changes nothing. */
  readonly readOnlyHint: boolean;
  /** Whether it may remove something. */
  readonly destructiveHint?: boolean;
  /** Whether calling it again with the same arguments changes no more. */
  readonly idempotentHint?: boolean;
  /** Whether it reaches beyond what the server itself keeps. */
  readonly openWorldHint?: boolean;
}

/** What is told of a tool. */
interface ToolFacts {
  /** The name, by which it is called. */
  readonly name: string;
  /** The name for people. */
  readonly title: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** Hints for clients. */
  readonly annotations: ToolAnnotations;
  /**
   * The schema of `structuredContent`.
   *
   * @default the tool has none
   */
  readonly output?: JsonSchema;
}

/** A tool, as {@linkcode defineTool} makes it. */
export interface McpTool<Context> extends ToolFacts {
  /** The schema of the arguments. */
  readonly input: JsonSchema;
  /**
   * Whether the caller is shown the tool. A call by its name is made in any
   * case, so that what answers it can say what the caller lacks.
   *
   * @default every caller is shown it
   */
  readonly isOffered?: (context: Context) => boolean;
  /** Calls the tool with unread arguments. */
  readonly call: (
    args: unknown,
    call: McpCall<Context>,
  ) => Promise<ToolResult>;
}

/**
 * Makes a tool whose arguments are read by a schema. Arguments that do not fit
 * give a result with `isError`, which a model can act on.
 */
export function defineTool<Context, Input>(
  { input, run, ...facts }: ToolFacts & {
    /** The schema of the arguments, an object. */
    readonly input: Schema<Input>;
    /** Does the work. */
    readonly run: (
      input: Input,
      call: McpCall<Context>,
    ) => Promise<ToolResult>;
  },
): McpTool<Context> {
  return {
    ...facts,
    input: input.json,
    call: async (args, call) => {
      const read = readWhole(input, args);
      if (read.kind === "ok") return await run(read.value, call);
      const faults = read.faults.map(({ pointer, detail }) =>
        pointer === "" ? detail : `${pointer}: ${detail}`
      );
      return errorResult(`Cannot call ${facts.name}: ${faults.join("; ")}`);
    },
  };
}

/** Makes the result of a tool that could not do what was asked. */
export function errorResult(reason: string): ToolResult {
  return { content: [{ type: "text", text: reason }], isError: true };
}

/** A resource as it is listed. */
interface McpResource {
  /** By what it is read. */
  readonly uri: string;
  /** The name. */
  readonly name: string;
  /** The name for people. */
  readonly title?: string;
  /** What it holds. */
  readonly description?: string;
  /** The type of its content. */
  readonly mimeType?: string;
}

/** A form of URIs of resources, such as `memory://{namespace}/{id}`. */
interface McpResourceTemplate extends Omit<McpResource, "uri"> {
  /** The form (RFC 6570). */
  readonly uriTemplate: string;
}

/** The content of a resource. */
interface McpResourceContent {
  /** Which resource it is. */
  readonly uri: string;
  /** The type. */
  readonly mimeType?: string;
  /** The content, of a text. */
  readonly text?: string;
  /** The content in base64, of anything else. */
  readonly blob?: string;
}

/** A page of resources. */
interface ResourcePage {
  /** The resources. */
  readonly resources: readonly McpResource[];
  /** Where the next page begins; undefined on the last one. */
  readonly nextCursor?: string | undefined;
}

/** The resources of a server. */
export interface McpResources<Context> {
  /** Forms of URIs. */
  readonly templates: readonly McpResourceTemplate[];
  /** Lists a page; the cursor is that of the page before. */
  readonly list: (
    cursor: string | undefined,
    call: McpCall<Context>,
  ) => Promise<ResourcePage>;
  /** Reads one; undefined when there is none with that URI. */
  readonly read: (
    uri: string,
    call: McpCall<Context>,
  ) => Promise<McpResourceContent | undefined>;
}

/** A prompt, which a person picks and fills in. */
export interface McpPrompt<Context> {
  /** The name. */
  readonly name: string;
  /** The name for people. */
  readonly title: string;
  /** What it is for. */
  readonly description: string;
  /** What a person fills in. */
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
  /** Makes the messages; the required arguments are there. */
  readonly get: (
    args: Readonly<Record<string, string>>,
    call: McpCall<Context>,
  ) => Promise<readonly PromptMessage[]>;
}

/** A message of a prompt. */
interface PromptMessage {
  /** Who says it. */
  readonly role: "user" | "assistant";
  /** What is said. */
  readonly content: McpContent;
}

/** Everything that a server offers. */
export interface McpCatalog<Context> {
  /** What the server is called, and its version. */
  readonly info: {
    readonly name: string;
    readonly title: string;
    readonly version: string;
  };
  /** How a model should use the server. */
  readonly instructions: string;
  /** The tools, in the order they are listed. */
  readonly tools: readonly McpTool<Context>[];
  /**
   * The resources.
   *
   * @default none
   */
  readonly resources?: McpResources<Context>;
  /**
   * The prompts.
   *
   * @default none
   */
  readonly prompts?: readonly McpPrompt<Context>[];
  /**
   * Whether tools send `notifications/message`, so that clients may set a
   * level.
   *
   * @default {false}
   */
  readonly sendsLogs?: boolean;
}

/**
 * A fault in a request that the client can correct: a name that does not exist,
 * or a cursor that cannot be read.
 */
export class McpRequestError extends Error {
  /** Name of the class. */
  override readonly name = "McpRequestError";
}
