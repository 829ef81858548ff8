import { assert, assertEquals } from "@std/assert";
import { type RandomVectors, serveRandomVectors } from "./random_vectors.ts";

async function fetchVectors(
  { env }: RandomVectors,
  input: readonly string[],
): Promise<readonly (readonly number[])[]> {
  const response = await fetch(`${env["EMBEDDING_API_BASE"]}/embeddings`, {
    method: "POST",
    body: JSON.stringify({ input, model: env["EMBEDDING_MODEL"] }),
  });
  const { data } = await response.json() as {
    readonly data: readonly { readonly embedding: readonly number[] }[];
  };
  return data.map(({ embedding }) => embedding);
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const product = (left: readonly number[], right: readonly number[]) =>
    left.reduce((sum, value, at) => sum + value * (right[at] ?? NaN), 0);
  return product(one, other) /
    Math.sqrt(product(one, one) * product(other, other));
}

Deno.test("serveRandomVectors() gives a text one direction that is far from all others", async () => {
  await using endpoint = serveRandomVectors({ seed: 1, width: 512 });
  const texts = ["tea", "teas", "tea tea", "", "Der Schlüssel", "tea"];
  const vectors = await fetchVectors(endpoint, texts);
  assertEquals(vectors[0], vectors[5]);
  const different = vectors.slice(0, 5);
  for (const [at, one] of different.entries()) {
    assertEquals(one.length, 512);
    for (const other of different.slice(at + 1)) {
      // Random directions are nearly at right angles; the bound is five
      // standard deviations of the cosine.
      assert(Math.abs(cosine(one, other)) < 5 / Math.sqrt(512));
    }
  }
});

Deno.test("serveRandomVectors() gives other directions for another seed", async () => {
  await using one = serveRandomVectors({ seed: 1, width: 512 });
  await using other = serveRandomVectors({ seed: 2, width: 512 });
  const [first] = await fetchVectors(one, ["tea"]);
  const [second] = await fetchVectors(other, ["tea"]);
  assert(first !== undefined && second !== undefined);
  assert(Math.abs(cosine(first, second)) < 5 / Math.sqrt(512));
});
