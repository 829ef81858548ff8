/**
 * An embedding endpoint on loopback whose vectors carry no meaning: each text
 * has a random direction, the same one each time. Recall with it must find
 * nearly as much as words alone do.
 *
 * @module
 */

import { randomNumbers } from "../kit/numbers.ts";

/** The endpoint; it runs until it is disposed of. */
export class RandomVectors implements AsyncDisposable {
  readonly #width: number;
  readonly #seed: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /**
   * Starts to listen on a free port.
   *
   * @param options.seed Another seed gives other directions.
   * @param options.width Number of dimensions of the vectors.
   */
  constructor(
    { seed, width = 384 }: { readonly seed: number; readonly width?: number },
  ) {
    this.#width = width;
    this.#seed = seed;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => this.#answer(request),
    );
  }

  /** The settings that make a relayer use this endpoint. */
  get env(): Readonly<Record<string, string>> {
    return {
      EMBEDDING_API_BASE: `http://127.0.0.1:${this.#server.addr.port}/v1`,
      EMBEDDING_MODEL: `random-${this.#seed}`,
      EMBEDDING_WIDTH: String(this.#width),
    };
  }

  /** Stops listening. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { input } = await request.json() as {
      readonly input: readonly string[];
    };
    const data = input.map((text, index) => ({
      index,
      embedding: this.#vectorOf(text),
    }));
    return Response.json({ data });
  }

  /** Returns the direction of a text; all directions are equally likely. */
  #vectorOf(text: string): readonly number[] {
    let state = this.#seed;
    for (const byte of new TextEncoder().encode(text)) {
      state = Math.imul(state ^ byte, FNV_PRIME);
    }
    const next = randomNumbers(state);
    // The sum of three uniform numbers is close enough to a normal
    // distribution.
    return Array.from(
      { length: this.#width },
      () => next() + next() + next() - 1.5,
    );
  }
}

/** The prime of the 32-bit hash FNV-1a. */
const FNV_PRIME = 0x01000193;
