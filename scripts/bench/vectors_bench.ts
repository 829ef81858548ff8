/**
 * Measures the vector search alone, in this process: how long it takes by
 * number and width of vectors, and whether its ten nearest results are those
 * that a plain loop over all vectors finds. Exits with 1 when a bar is missed.
 *
 * ```sh
 * deno task bench:vectors --help
 * ```
 *
 * @module
 */

import { parseArgs } from "node:util";
import { VectorIndex } from "../../services/relayer/recall/vector_index.ts";
import { finish } from "../../services/relayer/concurrency/testing/finish.ts";
import { messageOf, print, tell } from "../terminal.ts";
import { randomNumbers } from "./random_numbers.ts";
import { type Bar, isMet, tableOf } from "./tasks/bar.ts";
import { quantile } from "./tasks/load_job.ts";

const HELP = `Measures the search of vectors by size and width, in one process.

usage: deno task bench:vectors [options]

  --memories=<list>  how many there are in the namespace, one size after the other
                     (10000,100000)
  --widths=<list>    how wide vectors are (384,1536)
  --shapes=<list>    clustered: groups of alike ones, as texts on few subjects have;
                     random: any direction; sparse: few columns, as the built-in
                     embedder makes them (clustered,random,sparse)
  --queries=<n>      searches that are timed (100)
  --compared=<n>     searches that are compared with a plain loop (20)
  --seed=<n>         what the vectors are made of (1)
  --json             the result as JSON
  --help             this text
`;

const SHAPES = ["clustered", "random", "sparse"] as const;
type Shape = typeof SHAPES[number];

const OWNER = "owner";
const NAMESPACE = "default";
const LIMIT = 10;
/** The least share of the ten nearest vectors that the search has to find. */
const LEAST_AGREEMENT = 0.98;
/**
 * The longest median time of a whole recall, of which the search is a part, by
 * number of memories.
 */
const SEARCH_BARS = [
  { memories: 10_000, p50Ms: 4 },
  { memories: 100_000, p50Ms: 15 },
];
const WARM_UP = 20;
const CLUSTERS = 200;
/**
 * How far the vectors of a cluster lie from its centre, whose components are
 * below 1.
 */
const SPREAD = 0.5;
const SPARSE_COLUMNS = 40;

if (import.meta.main) {
  try {
    Deno.exit(main(Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}

function main(args: readonly string[]): number {
  const { values } = parseArgs({
    args: [...args],
    options: {
      memories: { type: "string", default: "10000,100000" },
      widths: { type: "string", default: "384,1536" },
      shapes: { type: "string", default: SHAPES.join() },
      queries: { type: "string", default: "100" },
      compared: { type: "string", default: "20" },
      seed: { type: "string", default: "1" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const queries = numberOf("queries", values.queries);
  const compared = numberOf("compared", values.compared);
  const seed = numberOf("seed", values.seed);
  const bars: Bar[] = [];
  for (const memories of numbersOf("memories", values.memories)) {
    for (const width of numbersOf("widths", values.widths)) {
      for (const shape of shapesOf(values.shapes)) {
        tell(`searching ${memories} ${shape} vectors of ${width} numbers`);
        bars.push(
          ...measure({ memories, width, shape, queries, compared, seed }),
        );
      }
    }
  }
  print(values.json ? JSON.stringify({ bars }, null, 2) : tableOf(bars));
  return bars.some((bar) => isMet(bar) === false) ? 1 : 0;
}

interface Load {
  readonly memories: number;
  readonly width: number;
  readonly shape: Shape;
  readonly queries: number;
  readonly compared: number;
  readonly seed: number;
}

function measure(load: Load): readonly Bar[] {
  const { memories, width, shape, queries, compared } = load;
  const makeVector = vectorMaker(load);
  const index = new VectorIndex(width);
  const vectors: Float32Array[] = [];
  const addedMs = performance.now();
  for (let number = 0; number < memories; number++) {
    const vector = makeVector();
    vectors.push(vector);
    index.add({
      ...{ id: String(number), owner: OWNER, namespace: NAMESPACE, vector },
      ...{ blobId: "", sizeBytes: 1, createdAtMs: 0, importance: 0.5 },
      metadata: {},
    });
  }
  const addMicros = (performance.now() - addedMs) * 1_000 / memories;
  const find = (vector: Float32Array): readonly string[] =>
    finish(
      index.searchSteps({
        ...{ owner: OWNER, namespace: NAMESPACE, vector, limit: LIMIT },
      }),
    ).map(({ id }) => id);
  const times: number[] = [];
  let agreed = 0;
  for (let at = -WARM_UP; at < queries; at++) {
    const vector = makeVector();
    const beginMs = performance.now();
    const found = find(vector);
    if (at < 0) continue;
    times.push(performance.now() - beginMs);
    if (at >= compared) continue;
    const closest = new Set(plainSearch(vectors, vector));
    agreed += found.filter((id) => closest.has(id)).length;
  }
  const sorted = Float64Array.from(times).sort();
  const name = `${memories.toLocaleString("en")} × ${width} ${shape}`;
  const limits = SEARCH_BARS.find((bar) => memories <= bar.memories);
  return [
    {
      name: `search p50, ${name}`,
      ...limits === undefined ? {} : { atMost: limits.p50Ms },
      value: quantile(sorted, 0.5),
      ...{ unit: "ms", digits: 2 },
      note: `p99 ${quantile(sorted, 0.99).toFixed(1)} ms; ` +
        `${addMicros.toFixed(0)} µs to make and add each, ` +
        `${(index.bytes / memories).toFixed(0)} bytes`,
    },
    {
      name: `of the ten closest found, ${name}`,
      atLeast: LEAST_AGREEMENT,
      value: agreed / (LIMIT * Math.max(1, Math.min(compared, queries))),
      ...{ unit: "", digits: 3 },
    },
  ];
}

/**
 * Returns a function that makes one vector per call; the same seed gives the
 * same vectors.
 */
function vectorMaker({ width, shape, seed }: Load): () => Float32Array {
  const next = randomNumbers(seed);
  // The sum of four uniform numbers is close enough to a normal distribution.
  const normal = (): number => next() + next() + next() + next() - 2;
  const dense = (): Float32Array =>
    Float32Array.from({ length: width }, normal);
  switch (shape) {
    case "random":
      return dense;
    case "clustered": {
      const middles = Array.from({ length: CLUSTERS }, dense);
      return () => {
        const middle = middles[Math.floor(next() * CLUSTERS)];
        return dense().map((value, at) => (middle?.[at] ?? 0) + SPREAD * value);
      };
    }
    case "sparse":
      return () => {
        const vector = new Float32Array(width);
        for (let column = 0; column < SPARSE_COLUMNS; column++) {
          // Squaring makes low columns more frequent, like the columns of
          // common words.
          vector[Math.floor(next() ** 2 * width)] = normal();
        }
        return vector;
      };
  }
}

/**
 * Returns the ids of the ten vectors with the greatest cosines; of equal ones
 * the lower id comes first.
 */
function plainSearch(
  vectors: readonly Float32Array[],
  query: Float32Array,
): readonly string[] {
  const cosines = vectors.map((vector, number) => {
    let [product, square] = [0, 0];
    for (let column = 0; column < query.length; column++) {
      const value = vector[column]!;
      product += value * query[column]!;
      square += value * value;
    }
    const cosine = square === 0 ? 0 : product / Math.sqrt(square);
    return { id: String(number), cosine };
  });
  return cosines.sort((one, other) =>
    other.cosine - one.cosine || (one.id < other.id ? -1 : 1)
  ).slice(0, LIMIT).map(({ id }) => id);
}

function shapesOf(text: string): readonly Shape[] {
  return text.split(",").map((name) => {
    const shape = SHAPES.find((known) => known === name);
    if (shape !== undefined) return shape;
    throw new TypeError(
      `Cannot measure: there are no vectors "${name}", only ${SHAPES.join()}`,
    );
  });
}

function numbersOf(name: string, text: string): readonly number[] {
  return text.split(",").map((one) => numberOf(name, one));
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new TypeError(
    `Cannot measure: --${name} is "${text}", but must be whole numbers above 0`,
  );
}
