/**
 * An embedding endpoint on loopback: texts that share words get similar
 * vectors, and each model has vectors of its own.
 *
 * @module
 */

/** Options of {@linkcode FakeEmbedder}. */
interface FakeEmbedderOptions {
  /** Number of dimensions of its vectors. */
  readonly width: number;
  /**
   * Whether a request may ask for another width.
   *
   * @default {false}
   */
  readonly takesWidths?: boolean;
}

/** Whether texts are those by which a relayer asks if the endpoint works. */
export function isProbe(input: readonly string[]): boolean {
  return input.length === 1 && input[0] === "memory";
}

/** The endpoint; it runs until it is disposed of. */
export class FakeEmbedder implements AsyncDisposable {
  /** The texts of each call so far, without probes. */
  readonly calls: (readonly string[])[] = [];
  /**
   * Returns a response to send in place of the vectors of texts; `undefined` to
   * send the vectors.
   */
  refuse: (texts: readonly string[]) => Response | undefined = () => undefined;
  /** A promise that every call waits for before it is answered. */
  held: Promise<void> = Promise.resolve();
  readonly #width: number;
  readonly #takesWidths: boolean;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** Starts to listen on a free port. */
  constructor({ width, takesWidths = false }: FakeEmbedderOptions) {
    this.#width = width;
    this.#takesWidths = takesWidths;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => this.#answer(request),
    );
  }

  /** The settings that make a relayer use this endpoint with a model. */
  env(model: string): Readonly<Record<string, string>> {
    return {
      EMBEDDING_API_BASE: `http://127.0.0.1:${this.#server.addr.port}/v1`,
      EMBEDDING_MODEL: model,
      EMBEDDING_WIDTH: String(this.#width),
    };
  }

  /** The texts of all calls so far. */
  get texts(): readonly string[] {
    return this.calls.flat();
  }

  /** Stops listening. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { input, model, dimensions } = await request.json() as {
      readonly input: readonly string[];
      readonly model: string;
      readonly dimensions?: number;
    };
    if (dimensions !== undefined && !this.#takesWidths) {
      return new Response("unknown field", { status: 400 });
    }
    const width = dimensions ?? this.#width;
    if (!isProbe(input)) this.calls.push(input);
    await this.held;
    return this.refuse(input) ?? Response.json({
      data: input.map((text, index) => ({
        index,
        embedding: this.#computeVector(text, { model, width }),
      })),
    });
  }

  /** Returns a vector: the sum of a pseudo-random direction for each word. */
  #computeVector(
    text: string,
    { model, width }: { readonly model: string; readonly width: number },
  ): readonly number[] {
    const sum = new Array<number>(width).fill(0);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["-"]) {
      let state = hashText(`${model} ${word}`);
      for (let at = 0; at < sum.length; at++) {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        sum[at] = (sum[at] ?? 0) + state / 2 ** 32 - 0.5;
      }
    }
    return sum;
  }
}

/** The 32-bit hash FNV-1a. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash;
}
