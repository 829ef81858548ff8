/**
 * An embedding endpoint on loopback whose vectors carry no meaning: each text
 * has a random direction, the same one each time. Recall with it must find
 * nearly as much as words alone do.
 *
 * @module
 */

import { randomNumbers } from "../kit/numbers.ts";

/** The endpoint; it runs until it is disposed of. */
export interface RandomVectors extends AsyncDisposable {
  /** The settings that make a relayer use this endpoint. */
  readonly env: Readonly<Record<string, string>>;
}

/** The prime of the 32-bit hash FNV-1a. */
const FNV_PRIME = 0x01000193;

/**
 * Starts the endpoint on a free port.
 *
 * @param options.seed Another seed gives other directions.
 * @param options.width Number of dimensions of the vectors; 384 unless given.
 */
export function serveRandomVectors(
  { seed, width = 384 }: { readonly seed: number; readonly width?: number },
): RandomVectors {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { input } = await request.json() as {
        readonly input: readonly string[];
      };
      const data = input.map((text, index) => ({
        ...{ index, embedding: randomVector(text, { seed, width }) },
      }));
      return Response.json({ data });
    },
  );
  return {
    env: {
      EMBEDDING_API_BASE: `http://127.0.0.1:${server.addr.port}/v1`,
      EMBEDDING_MODEL: `random-${seed}`,
      EMBEDDING_WIDTH: String(width),
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Returns the direction of a text; all directions are equally likely. */
function randomVector(
  text: string,
  { seed, width }: { readonly seed: number; readonly width: number },
): readonly number[] {
  let state = seed;
  for (const byte of new TextEncoder().encode(text)) {
    state = Math.imul(state ^ byte, FNV_PRIME);
  }
  const next = randomNumbers(state);
  // The sum of three uniform numbers is close enough to a normal distribution.
  return Array.from({ length: width }, () => next() + next() + next() - 1.5);
}
