/**
 * Opens owners' keys in a thread of its own: pairings take some ten milliseconds each,
 * which requests of other owners would wait for.
 *
 * @module
 */

import type { KeyServerClientOptions } from "../../../sdk/vault/key_server_client.ts";
import type {
  EncryptKeyRequest,
  KeyOpening,
  OpenKeyOutcome,
  OpenKeyRequest,
} from "./key_opening.ts";

/** What the thread is told of key servers. */
type KeyThreadServers = Pick<
  KeyServerClientOptions,
  "keyServers" | "threshold" | "timeoutMs"
>;

/** What is asked of the thread; first of all, who the key servers are. */
export type KeyThreadRequest =
  | { readonly kind: "servers"; readonly servers: KeyThreadServers }
  | {
    readonly kind: "encrypt";
    readonly number: number;
    readonly request: EncryptKeyRequest;
  }
  | {
    readonly kind: "open";
    readonly number: number;
    readonly request: OpenKeyRequest;
  };

/** What the thread answers. */
export type KeyThreadAnswer =
  | {
    readonly kind: "encrypted";
    readonly number: number;
    readonly bytes: Uint8Array;
  }
  | {
    readonly kind: "opened";
    readonly number: number;
    readonly outcome: OpenKeyOutcome;
  }
  | {
    readonly kind: "failed";
    readonly number: number;
    readonly reason: string;
  };

/** Options of {@linkcode KeyThread}. */
interface KeyThreadOptions {
  /** The key servers. */
  readonly servers: KeyThreadServers;
  /**
   * Most keys that are being made or opened; one more has to be asked for later.
   *
   * @default {256}
   */
  readonly maxUnderWay?: number | undefined;
  /**
   * Starts the thread.
   *
   * @default the thread's own program
   */
  readonly startThread?: (() => Worker) | undefined;
}

type Waiting = PromiseWithResolvers<KeyThreadAnswer>;

const MAX_UNDER_WAY = 256;
const STOPPING = "the relayer stops";

/** The thread; it starts with the first key that is asked for. */
export class KeyThread implements KeyOpening {
  readonly #options: KeyThreadOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #asked = 0;
  #isStopped = false;

  /** A thread that is not started. */
  constructor(options: KeyThreadOptions) {
    this.#options = options;
  }

  /**
   * Encrypts a key.
   *
   * @throws {Error} When the thread cannot do it now.
   */
  async encrypt(request: EncryptKeyRequest): Promise<Uint8Array> {
    const number = ++this.#asked;
    const answer = await this.#ask({ kind: "encrypt", number, request });
    if (answer.kind === "encrypted") return answer.bytes;
    throw new Error(`Cannot make an owner's key: ${reasonOf(answer)}`);
  }

  /** Opens a key. */
  async open(request: OpenKeyRequest): Promise<OpenKeyOutcome> {
    const number = ++this.#asked;
    const answer = await this.#ask({ kind: "open", number, request });
    if (answer.kind === "opened") return answer.outcome;
    const failure = {
      objectId: "none",
      kind: "unavailable" as const,
      reason: reasonOf(answer),
    };
    return { kind: "unavailable", failures: [failure] };
  }

  /** Ends the thread; what is under way fails, and so does what is asked later. */
  stop(): void {
    this.#isStopped = true;
    this.#end(STOPPING);
  }

  async #ask(
    request: Exclude<KeyThreadRequest, { readonly kind: "servers" }>,
  ): Promise<KeyThreadAnswer> {
    const { number } = request;
    const { maxUnderWay = MAX_UNDER_WAY } = this.#options;
    // A thread that is started now would not be ended.
    if (this.#isStopped) return { kind: "failed", number, reason: STOPPING };
    if (this.#waiting.size >= maxUnderWay) {
      return { kind: "failed", number, reason: "too many keys are under way" };
    }
    this.#worker ??= this.#start();
    const waiting = Promise.withResolvers<KeyThreadAnswer>();
    this.#waiting.set(number, waiting);
    this.#worker.postMessage(request);
    return await waiting.promise;
  }

  #start(): Worker {
    const { startThread = startKeyThread, servers } = this.#options;
    const worker = startThread();
    worker.onmessage = ({ data }: MessageEvent<KeyThreadAnswer>) => {
      this.#waiting.get(data.number)?.resolve(data);
      this.#waiting.delete(data.number);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      // The next key that is asked for starts another one.
      this.#end(event.message);
    };
    const first: KeyThreadRequest = { kind: "servers", servers };
    worker.postMessage(first);
    return worker;
  }

  #end(reason: string): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const [number, { resolve }] of this.#waiting) {
      resolve({ kind: "failed", number, reason });
    }
    this.#waiting.clear();
  }
}

function startKeyThread(): Worker {
  return new Worker(new URL("./key_thread_program.ts", import.meta.url), {
    type: "module",
  });
}

function reasonOf(answer: KeyThreadAnswer): string {
  return answer.kind === "failed" ? answer.reason : answer.kind;
}
