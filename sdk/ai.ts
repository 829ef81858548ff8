/**
 * Memory for models of the Vercel AI SDK: what is known of a user goes into the prompt,
 * and what the user says is remembered.
 *
 * ```ts
 * import { withMem } from "@tercet/sdk/ai";
 * import { MockLanguageModelV4 } from "ai/test";
 *
 * const model = withMem(new MockLanguageModelV4(), {
 *   key: "07".repeat(32), // the delegate's private key
 *   accountId: "0xa11ce",
 * });
 * // … generateText({ model, prompt: "What does Ada drink?" }) …
 * await model.flush();
 * ```
 *
 * @module
 */

import { wrapLanguageModel } from "ai";
import { fenceOf, type ShownMemory } from "./ai/fence.ts";
import type { MemConfig } from "./memory/config.ts";
import { Mem } from "./memory/mem.ts";
import { checkRanking } from "./memory/ranking.ts";
import type { Ranking, RecallMemory } from "./memory/recall_types.ts";

/** A model as the AI SDK takes it: what its providers make. */
export interface WrappableModel {
  /** The version of the interface that it has, such as `v4`. */
  readonly specificationVersion: string;
  /** Who provides it. */
  readonly provider: string;
  /** Which model it is. */
  readonly modelId: string;
}

/** What a model with memory has beside what it had. */
export interface MemorySaves {
  /**
   * Waits until what was said up to now has been handed to the relayer. Call it before
   * a process or a serverless function ends. It never rejects.
   */
  readonly flush: () => Promise<void>;
}

/** What {@linkcode withMem} needs of a client; `Mem` is one. */
export type MemoryClient = Pick<Mem, "recall" | "analyze">;

/** What could not be done with memories. */
export interface MemoryFailure {
  /** `recall`: nothing was injected; `save`: nothing was remembered. */
  readonly operation: "recall" | "save";
}

/** How memories are used. */
export interface MemoryUse {
  /**
   * Most memories in a prompt.
   *
   * @default {5}
   */
  readonly maxMemories?: number | undefined;
  /**
   * The least relevance of a memory in a prompt, 0 to 1: what the relayer says, or 1
   * minus the distance where it says nothing, as with the ranking `semantic`.
   *
   * @default {0.3}
   */
  readonly minRelevance?: number | undefined;
  /**
   * What finds memories for a prompt. A relayer that does not offer `recall.ranking`
   * is not told, and goes by distance.
   *
   * @default {"fused"}
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether facts of what the user says are remembered.
   *
   * @default {true}
   */
  readonly autoSave?: boolean | undefined;
  /**
   * Where memories stand: in the system message, or in a user message before the
   * last one, so that they have no more authority than the user has.
   *
   * @default {"system"}
   */
  readonly injection?: "system" | "user" | undefined;
  /**
   * Told what went wrong with memories; the generation goes on without them.
   *
   * @default a warning on the console
   */
  readonly onMemoryError?:
    | ((error: unknown, failure: MemoryFailure) => void)
    | undefined;
  /**
   * Whether the console is told how many memories were found and used. Their texts
   * are not shown.
   *
   * @default {false}
   */
  readonly debug?: boolean | undefined;
}

/** Options of {@linkcode withMem}: those of a client, or a client, and how to use it. */
export type WithMemOptions =
  & MemoryUse
  & (MemConfig | {
    /** The client; it is not ended here. */
    readonly mem: MemoryClient;
    /** The namespace of the memories. */
    readonly namespace?: string | undefined;
  });

/**
 * Gives a model a memory. Before it generates, the last message of the user is looked
 * up among the memories, and those that fit are put into the prompt, fenced as data.
 * Afterwards the facts in that message are remembered, without being waited for.
 * Whatever goes wrong with memories, the model answers as it would without them.
 *
 * It takes models of every version that `wrapLanguageModel` of the installed `ai`
 * takes, and both generates and streams.
 *
 * ```ts
 * import { withMem } from "@tercet/sdk/ai";
 * import { MockLanguageModelV4 } from "ai/test";
 *
 * const model = withMem(new MockLanguageModelV4(), {
 *   key: "07".repeat(32),
 *   accountId: "0xa11ce",
 *   maxMemories: 3,
 *   injection: "user",
 * });
 * console.log(typeof model.flush); // "function"
 * ```
 *
 * @throws {TypeError} When an option is not what it must be.
 */
export function withMem<Model extends WrappableModel>(
  model: Model,
  options: WithMemOptions,
): Model & MemorySaves {
  const memory = new PromptMemory(options);
  const wrapped: unknown = wrapLanguageModel({
    // Its own type differs from version to version of the package.
    model: model as WrapOptions["model"] & Model,
    middleware: {
      // Versions before the newest are taken by every version of the package.
      specificationVersion: "v3",
      transformParams: ({ params }) => memory.prepared(params),
      wrapGenerate: async ({ doGenerate, params }) => {
        const result = await doGenerate();
        memory.save(params.prompt);
        return result;
      },
      wrapStream: async ({ doStream, params }) => {
        const { stream, ...rest } = await doStream();
        const saving = new TransformStream({
          flush: () => memory.save(params.prompt),
        });
        return { ...rest, stream: stream.pipeThrough(saving) };
      },
    } as Exclude<WrapOptions["middleware"], readonly unknown[]>,
  });
  const saves: MemorySaves = { flush: () => memory.flush() };
  // Whatever version the wrapped model has is taken where the model itself is.
  return Object.assign(wrapped as Model, saves);
}

type WrapOptions = Parameters<typeof wrapLanguageModel>[0];

/** What of a call matters here; the same in every version of models. */
interface CallParams {
  readonly prompt: readonly PromptMessage[];
  readonly abortSignal?: AbortSignal | undefined;
}

interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
}

/** How memories are used, with the defaults in. */
interface CheckedUse {
  readonly maxMemories: number;
  readonly minRelevance: number;
  readonly ranking: Ranking;
  readonly autoSave: boolean;
  readonly injection: "system" | "user";
  readonly debug: boolean;
}

const DEFAULT_MAX_MEMORIES = 5;
const DEFAULT_MIN_RELEVANCE = 0.3;
/** Saves under way; more are left out. */
const MAX_SAVES = 100;
/** Questions whose memories are kept for the further steps of a call. */
const MAX_KEPT = 8;

class PromptMemory {
  readonly #client: MemoryClient;
  readonly #use: CheckedUse;
  readonly #namespace: string | undefined;
  readonly #onError: NonNullable<MemoryUse["onMemoryError"]>;
  readonly #saves = new Set<Promise<void>>();
  readonly #kept = new Map<string, readonly ShownMemory[]>();

  constructor(options: WithMemOptions) {
    const use = checkedUse(options);
    this.#use = use;
    this.#onError = options.onMemoryError ?? warn;
    if ("mem" in options) {
      this.#client = options.mem;
      this.#namespace = options.namespace;
    } else {
      this.#client = Mem.create(options);
      // The client has it already.
      this.#namespace = undefined;
    }
  }

  /** The same call with memories in its prompt, or as it is. */
  async prepared<Params extends CallParams>(params: Params): Promise<Params> {
    const { prompt, abortSignal } = params;
    const query = lastUserText(prompt);
    if (query === "" || this.#use.maxMemories === 0) return params;
    try {
      const isFirstStep = prompt.at(-1)?.role === "user";
      // The steps after a tool's are about the same question.
      const known = isFirstStep ? undefined : this.#kept.get(query);
      const memories = known ?? await this.#recall(query, abortSignal);
      if (memories.length === 0) return params;
      const fence = fenceOf(memories);
      const injected = this.#use.injection === "system"
        ? withSystemText(prompt, `${fence.policy}\n${fence.block}`)
        : withUserText(withSystemText(prompt, fence.policy), fence.block);
      return { ...params, prompt: injected };
    } catch (error) {
      this.#tell(error, "recall");
      return params;
    }
  }

  /** Begins to remember what the user said; does not wait. */
  save(prompt: readonly PromptMessage[]): void {
    if (!this.#use.autoSave || prompt.at(-1)?.role !== "user") return;
    const text = lastUserText(prompt);
    if (text === "") return;
    if (this.#saves.size >= MAX_SAVES) {
      this.#tell(
        new Error(`Cannot save: ${MAX_SAVES} saves are under way`),
        "save",
      );
      return;
    }
    const saving = this.#analyze(text)
      .catch((error: unknown) => this.#tell(error, "save"))
      .finally(() => this.#saves.delete(saving));
    this.#saves.add(saving);
  }

  /** Waits for all saves. */
  async flush(): Promise<void> {
    while (this.#saves.size > 0) await Promise.all(this.#saves);
  }

  async #analyze(text: string): Promise<void> {
    const { fact_count } = await this.#client.analyze(text, {
      namespace: this.#namespace,
    });
    this.#note(`${fact_count} facts to save`);
  }

  async #recall(
    query: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly ShownMemory[]> {
    const { maxMemories, minRelevance, ranking } = this.#use;
    const { results } = await untilAborted(
      this.#client.recall({
        query,
        limit: maxMemories,
        namespace: this.#namespace,
        ranking,
      }),
      signal,
    );
    const memories = results
      .map((hit) => ({ text: hit.text, relevance: relevanceOf(hit) }))
      .filter(({ relevance }) => relevance >= minRelevance)
      .slice(0, maxMemories);
    this.#note(`${results.length} memories found, ${memories.length} used`);
    this.#keep(query, memories);
    return memories;
  }

  #keep(query: string, memories: readonly ShownMemory[]): void {
    this.#kept.delete(query);
    this.#kept.set(query, memories);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) {
      this.#kept.delete(oldest);
    }
  }

  #note(what: string): void {
    // deno-lint-ignore no-console
    if (this.#use.debug) console.debug(`withMem: ${what}`);
  }

  #tell(error: unknown, operation: MemoryFailure["operation"]): void {
    try {
      this.#onError(error, { operation });
    } catch (thrown) {
      // deno-lint-ignore no-console
      console.warn("withMem: onMemoryError has thrown", thrown);
    }
  }
}

function checkedUse(options: WithMemOptions): CheckedUse {
  if (typeof options !== "object" || options === null) {
    throw fault("it needs options with key and accountId, or with mem");
  }
  const {
    maxMemories = DEFAULT_MAX_MEMORIES,
    minRelevance = DEFAULT_MIN_RELEVANCE,
    autoSave = true,
    injection = "system",
    debug = false,
    onMemoryError,
  } = options;
  if (!Number.isInteger(maxMemories) || maxMemories < 0 || maxMemories > 100) {
    throw fault("maxMemories is no whole number from 0 to 100");
  }
  if (!(minRelevance >= 0 && minRelevance <= 1)) {
    throw fault("minRelevance is no number from 0 to 1");
  }
  if (typeof autoSave !== "boolean") throw fault("autoSave is no boolean");
  if (typeof debug !== "boolean") throw fault("debug is no boolean");
  if (injection !== "system" && injection !== "user") {
    throw fault('injection is neither "system" nor "user"');
  }
  if (onMemoryError !== undefined && typeof onMemoryError !== "function") {
    throw fault("onMemoryError is no function");
  }
  const ranking = checkRanking(options.ranking) ?? "fused";
  return { maxMemories, minRelevance, ranking, autoSave, injection, debug };
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot give the model a memory: ${state}`);
}

function warn(error: unknown, { operation }: MemoryFailure): void {
  // An application that gave no function has no other place to hear of it.
  // deno-lint-ignore no-console
  console.warn(`withMem: cannot ${operation} memories`, error);
}

/** What relayers that rank by more than vectors say, or what the vectors say. */
function relevanceOf({ relevance, distance }: RecallMemory): number {
  return Math.min(1, Math.max(0, relevance ?? 1 - distance));
}

/** The text of the last message of the user, without files; empty for none. */
function lastUserText(prompt: readonly PromptMessage[]): string {
  const message = prompt.findLast(({ role }) => role === "user");
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content.trim();
  if (!Array.isArray(message.content)) return "";
  return message.content.flatMap((part: unknown) => {
    const { type, text }: { readonly type?: unknown; readonly text?: unknown } =
      Object(part);
    return type === "text" && typeof text === "string" ? [text] : [];
  }).join(" ").trim();
}

/** Adds to the system message in front, for many providers take only one. */
function withSystemText(
  prompt: readonly PromptMessage[],
  text: string,
): PromptMessage[] {
  const [first, ...others] = prompt;
  return first?.role === "system" && typeof first.content === "string"
    ? [{ ...first, content: `${first.content}\n\n${text}` }, ...others]
    : [{ role: "system", content: text }, ...prompt];
}

/** Puts a user message before the last one, which stays the last. */
function withUserText(
  prompt: readonly PromptMessage[],
  text: string,
): PromptMessage[] {
  const at = prompt.findLastIndex(({ role }) => role === "user");
  const content = [{ type: "text", text }];
  return [
    ...prompt.slice(0, at),
    { role: "user", content },
    ...prompt.slice(at),
  ];
}

/** Stops waiting when the caller does; the request itself has its own deadline. */
async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await work;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const listener = () => reject(signal.reason);
    if (signal.aborted) listener();
    signal.addEventListener("abort", listener);
    stop = () => signal.removeEventListener("abort", listener);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop();
    // Whichever lost the race is of no interest.
    work.catch(() => {});
    aborted.catch(() => {});
  }
}
