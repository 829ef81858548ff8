/**
 * Memory for models of the Vercel AI SDK: memories of a user are put into the
 * prompt, and facts from the user's messages are remembered.
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

import { buildFence, type ShownMemory } from "./ai/fence.ts";
import { runWithin } from "./memory/client_clock.ts";
import type { MemConfig, MemTokenConfig } from "./memory/config.ts";
import { Mem } from "./memory/mem.ts";
import { checkRanking } from "./memory/ranking.ts";
import type { Ranking, RecallMemory } from "./memory/recall_types.ts";

/** A model of the AI SDK, as its providers make them. */
export interface WrappableModel {
  /** The version of the model's interface, such as `v4`. */
  readonly specificationVersion: string;
  /** The name of the provider. */
  readonly provider: string;
  /** What the provider calls the model. */
  readonly modelId: string;
}

/** What {@linkcode withMem} adds to a model. */
export interface MemorySaves {
  /**
   * Waits until all messages so far have been handed to the relayer. Call it
   * before a process or a serverless function ends. It never rejects.
   */
  readonly flush: () => Promise<void>;
}

/** The methods of a client that {@linkcode withMem} needs; `Mem` has them. */
export type MemoryClient = Pick<Mem, "recall" | "analyze">;

/** Which operation with memories failed. */
export interface MemoryFailure {
  /**
   * `recall`: no memory was put into the prompt; `save`: nothing was
   * remembered.
   */
  readonly operation: "recall" | "save";
}

/** Options of how a model uses memories. */
export interface MemoryUse {
  /**
   * The most memories that are put into a prompt.
   *
   * @default {5}
   */
  readonly maxMemories?: number | undefined;
  /**
   * The least relevance, 0 to 1, that a memory needs to be put into a prompt.
   * It is the relevance that the relayer reports or, where it reports none, as
   * with the ranking `semantic`, 1 minus the distance.
   *
   * @default {0.3}
   */
  readonly minRelevance?: number | undefined;
  /**
   * How memories are ranked. A relayer that does not offer `recall.ranking` is
   * not sent this option, and ranks by distance.
   *
   * @default {"fused"}
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether facts from the user's messages are remembered.
   *
   * @default {true}
   */
  readonly autoSave?: boolean | undefined;
  /**
   * What a relayer without a chat model keeps of the user's messages: statements
   * of people about themselves, or every sentence but questions, requests and
   * small talk.
   *
   * @default {"statements"}
   */
  readonly keep?: "statements" | "all" | undefined;
  /**
   * Where memories are put: into the system message, or into a user message
   * before the last one, so that they have no more authority than the user has.
   *
   * @default {"system"}
   */
  readonly injection?: "system" | "user" | undefined;
  /**
   * Called with the error when memories cannot be recalled or saved; the
   * generation goes on without them.
   *
   * @default a warning on the console
   */
  readonly onMemoryError?:
    | ((error: unknown, failure: MemoryFailure) => void)
    | undefined;
  /**
   * Whether the numbers of memories found and used are logged to the console.
   * The memories' texts are not logged.
   *
   * @default {false}
   */
  readonly debug?: boolean | undefined;
}

/**
 * Options of {@linkcode withMem}: a client or the options to make one, and how
 * memories are used.
 */
export type WithMemOptions =
  & MemoryUse
  & (MemConfig | MemTokenConfig | {
    /** The client. It is not destroyed with the model. */
    readonly mem: MemoryClient;
    /** The namespace of the memories. */
    readonly namespace?: string | undefined;
  });

/**
 * Gives a model a memory. Before the model generates, memories are recalled for
 * the user's last message, and the relevant ones are put into the prompt,
 * marked as data. Afterwards the facts in that message are saved in the
 * background. When recalling or saving fails, the model answers as it would
 * without memories.
 *
 * The model keeps the version of its interface (V2, V3 or V4), so it works with
 * every `ai` that takes the model itself, for generating, streaming and tools.
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
  const inner = checkedModel(model);
  const memory = new PromptMemory(options);
  const own = new Map<string | symbol, unknown>([
    ["flush", () => memory.flush()],
    ["doGenerate", async (call: CallParams) => {
      const params = await memory.prepared(call);
      try {
        const result = await inner.doGenerate(params);
        memory.save(params.prompt);
        return result;
      } catch (error) {
        // The user has said it, whether the answer was wanted or not.
        if (call.abortSignal?.aborted === true) memory.save(params.prompt);
        throw error;
      }
    }],
    ["doStream", async (call: CallParams) => {
      const params = await memory.prepared(call);
      const { stream, ...rest } = await inner.doStream(params);
      const onEnd = () => memory.save(params.prompt);
      return { ...rest, stream: withEnd(stream, onEnd) };
    }],
  ]);
  return new Proxy(model, {
    get(target, name) {
      if (own.has(name)) return own.get(name);
      const value: unknown = Reflect.get(target, name, target);
      // Methods of classes need their own object, for its private fields.
      return typeof value === "function" ? value.bind(target) : value;
    },
    has: (target, name) => own.has(name) || Reflect.has(target, name),
  }) as Model & MemorySaves;
}

/** The methods that generate; they are the same in every version of models. */
interface CalledModel {
  doGenerate(params: CallParams): PromiseLike<unknown>;
  doStream(
    params: CallParams,
  ): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

function checkedModel(model: WrappableModel): WrappableModel & CalledModel {
  if (typeof model === "string") {
    throw fault(
      `"${model}" is the id of a model; take the model itself, such as ` +
        `gateway("${model}") of the package ai`,
    );
  }
  const { doGenerate, doStream } = Object(model);
  if (typeof doGenerate !== "function" || typeof doStream !== "function") {
    throw fault("the first argument is not a language model of the AI SDK");
  }
  return model as WrappableModel & CalledModel;
}

/**
 * Returns a stream that calls a function once when it ends, whatever ends it:
 * the last part, an error, or a reader that stops.
 */
function withEnd(
  stream: ReadableStream<unknown>,
  onEnd: () => void,
): ReadableStream<unknown> {
  const reader = stream.getReader();
  let isOver = false;
  const end = (): void => {
    if (!isOver) onEnd();
    isOver = true;
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/**
 * The members of a model call that are used here; they are the same in every
 * version of models.
 */
interface CallParams {
  readonly prompt: readonly PromptMessage[];
  readonly abortSignal?: AbortSignal | undefined;
}

interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
}

/** The options of how memories are used, checked and with their defaults. */
interface CheckedUse {
  readonly maxMemories: number;
  readonly minRelevance: number;
  readonly ranking: Ranking;
  readonly autoSave: boolean;
  readonly keep: MemoryUse["keep"];
  readonly injection: "system" | "user";
  readonly debug: boolean;
}

const DEFAULT_MAX_MEMORIES = 5;
const DEFAULT_MIN_RELEVANCE = 0.3;
/** The most saves that may run at once; further messages are not saved. */
const MAX_SAVES = 100;
/**
 * The most questions whose memories are kept for the further steps of a call.
 */
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
      // The client was made with the namespace, so calls need not name it.
      this.#namespace = undefined;
    }
  }

  /**
   * Returns the call with memories in its prompt, or the call unchanged when
   * there are none.
   */
  async prepared<Params extends CallParams>(params: Params): Promise<Params> {
    const { prompt, abortSignal } = params;
    const query = shortened(lastUserText(prompt));
    if (query === "" || this.#use.maxMemories === 0) return params;
    try {
      const isFirstStep = prompt.at(-1)?.role === "user";
      // The steps after a tool call are about the same question, so its
      // memories are not recalled again.
      const known = isFirstStep ? undefined : this.#kept.get(query);
      const memories = known ?? await this.#recall(query, abortSignal);
      if (memories.length === 0) return params;
      const fence = buildFence(memories);
      const injected = this.#use.injection === "system"
        ? withSystemText(prompt, `${fence.policy}\n${fence.block}`)
        : withUserText(withSystemText(prompt, fence.policy), fence.block);
      return { ...params, prompt: injected };
    } catch (error) {
      this.#tell(error, "recall");
      return params;
    }
  }

  /** Starts to save the facts in the user's message; does not wait. */
  save(prompt: readonly PromptMessage[]): void {
    if (!this.#use.autoSave || prompt.at(-1)?.role !== "user") return;
    const text = shortened(lastUserText(prompt));
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
      keep: this.#use.keep,
    });
    this.#note(`${fact_count} facts to save`);
  }

  async #recall(
    query: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly ShownMemory[]> {
    const { maxMemories, minRelevance, ranking } = this.#use;
    // The recall goes on when the call is aborted: it has its own deadline.
    const { results } = await runWithin(
      () =>
        this.#client.recall({
          query,
          limit: maxMemories,
          namespace: this.#namespace,
          ranking,
        }),
      { signals: signal === undefined ? [] : [signal] },
    );
    const memories = results
      .map((hit) => ({ text: hit.text, relevance: getRelevance(hit) }))
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
    // The application's function may be asynchronous; what it throws must not
    // end the process, as a rejection that is not handled would.
    const telling = async () => await this.#onError(error, { operation });
    telling().catch((thrown: unknown) => {
      // deno-lint-ignore no-console
      console.warn("withMem: onMemoryError has thrown", thrown);
    });
  }
}

function checkedUse(options: WithMemOptions): CheckedUse {
  if (typeof options !== "object" || options === null) {
    throw fault("it needs options with key and accountId, or with mem");
  }
  if ("mem" in options && typeof options.mem?.recall !== "function") {
    throw fault("mem is no client, such as Mem.create() makes");
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
    throw fault("maxMemories is not a whole number from 0 to 100");
  }
  if (!(minRelevance >= 0 && minRelevance <= 1)) {
    throw fault("minRelevance is not a number from 0 to 1");
  }
  if (typeof autoSave !== "boolean") throw fault("autoSave is not a boolean");
  if (typeof debug !== "boolean") throw fault("debug is not a boolean");
  if (injection !== "system" && injection !== "user") {
    throw fault('injection is neither "system" nor "user"');
  }
  if (onMemoryError !== undefined && typeof onMemoryError !== "function") {
    throw fault("onMemoryError is not a function");
  }
  const { keep } = options;
  if (keep !== undefined && keep !== "statements" && keep !== "all") {
    throw fault('keep is neither "statements" nor "all"');
  }
  const ranking = checkRanking(options.ranking) ?? "fused";
  return {
    ...{ maxMemories, minRelevance, ranking, autoSave, keep },
    ...{ injection, debug },
  };
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot give the model a memory: ${state}`);
}

function warn(error: unknown, { operation }: MemoryFailure): void {
  // Without an `onMemoryError` function, the console is the only place where
  // the application can learn of the failure.
  // deno-lint-ignore no-console
  console.warn(`withMem: cannot ${operation} memories`, error);
}

/**
 * Returns the relevance that the relayer reports, else 1 minus the distance, in
 * the range 0 to 1.
 */
function getRelevance({ relevance, distance }: RecallMemory): number {
  return Math.min(1, Math.max(0, relevance ?? 1 - distance));
}

/**
 * Returns the text of the user's last message, without files; empty when there
 * is no text.
 */
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

/** Most characters of a question, or of a message that is saved. */
const MAX_CHARS = 20_000;

/**
 * Returns a text that relayers take: of a longer one the beginning and the end,
 * where people say what they want.
 */
function shortened(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const half = MAX_CHARS / 2;
  // No half of a surrogate pair stays.
  const start = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const end = text.slice(-half).replace(/^[\uDC00-\uDFFF]/, "");
  return `${start}\n…\n${end}`;
}

/**
 * Adds the text to the first system message rather than as another one, because
 * many providers accept only one.
 */
function withSystemText(
  prompt: readonly PromptMessage[],
  text: string,
): PromptMessage[] {
  const [first, ...others] = prompt;
  return first?.role === "system" && typeof first.content === "string"
    ? [{ ...first, content: `${first.content}\n\n${text}` }, ...others]
    : [{ role: "system", content: text }, ...prompt];
}

/** Inserts a user message before the user's last message. */
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
