/**
 * Encrypts and opens owners' keys in a worker thread: a pairing takes some ten
 * milliseconds, which requests of other owners would wait for.
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

/** The key servers that the thread uses. */
type KeyThreadServers = Pick<
  KeyServerClientOptions,
  "keyServers" | "threshold" | "timeoutMs"
>;

/** A message to the thread; the first one names the key servers. */
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

/** The thread's answer to the request of that number. */
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
   * Most keys that are encrypted or opened at a time; a further request fails.
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

/** Opens keys in a worker thread, which the first request starts. */
export class KeyThread implements KeyOpening {
  readonly #options: KeyThreadOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #asked = 0;
  #isStopped = false;

  /** Starts no thread yet. */
  constructor(options: KeyThreadOptions) {
    this.#options = options;
  }

  /**
   * Encrypts a key.
   *
   * @throws {Error} When the thread fails, is stopped or has too many requests.
   */
  async encrypt(request: EncryptKeyRequest): Promise<Uint8Array> {
    const number = ++this.#asked;
    const answer = await this.#ask({ kind: "encrypt", number, request });
    if (answer.kind === "encrypted") return answer.bytes;
    throw new Error(`Cannot create an owner's key: ${getReason(answer)}`);
  }

  /** Opens a key; unavailable also where the thread fails. */
  async open(request: OpenKeyRequest): Promise<OpenKeyOutcome> {
    const number = ++this.#asked;
    const answer = await this.#ask({ kind: "open", number, request });
    if (answer.kind === "opened") return answer.outcome;
    const failure = {
      objectId: "none",
      kind: "unavailable" as const,
      reason: getReason(answer),
    };
    return { kind: "unavailable", failures: [failure] };
  }

  /** Ends the thread; pending and later requests fail. */
  stop(): void {
    this.#isStopped = true;
    this.#end(STOPPING);
  }

  async #ask(
    request: Exclude<KeyThreadRequest, { readonly kind: "servers" }>,
  ): Promise<KeyThreadAnswer> {
    const { number } = request;
    const { maxUnderWay = MAX_UNDER_WAY } = this.#options;
    // A thread that starts after stop() would never be ended.
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
      // The next request starts another thread.
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

function getReason(answer: KeyThreadAnswer): string {
  return answer.kind === "failed" ? answer.reason : answer.kind;
}
