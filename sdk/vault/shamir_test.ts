import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { combineShares, shareAt, splitSecret } from "./shamir.ts";

Deno.test("combineShares() gives a secret back from any threshold of its shares", () => {
  const random = new SeededRandom(11);
  for (let round = 0; round < 60; round++) {
    const total = 1 + random.below(9);
    const threshold = 1 + random.below(total);
    const secret = random.bytes(1 + random.below(40));
    const shares = splitSecret(secret, { threshold, total });
    const chosen = [...shares].sort(() => random.next() - 0.5)
      .slice(0, threshold);
    assertEquals(combineShares(chosen), secret);
    for (const { index, share } of shares) {
      assertEquals(shareAt(index, chosen), share);
    }
  }
});

Deno.test("combineShares() computes in the field of AES", () => {
  // Computed by hand: {57} · {83} = {c1} (FIPS 197, 4.2), and the line y = {57}
  // + {83} x.
  const shares = [
    { index: 1, share: Uint8Array.of(0x57 ^ 0x83) },
    { index: 2, share: Uint8Array.of(0x57 ^ 0x1d) },
  ];
  assertEquals(combineShares(shares), Uint8Array.of(0x57));
  assertEquals(
    shareAt(0x83, [
      { index: 1, share: Uint8Array.of(0x57) },
      { index: 2, share: Uint8Array.of(0xae) },
    ]),
    Uint8Array.of(0xc1),
  );
});

Deno.test("fewer shares than the threshold give every secret equally often", () => {
  const counts = new Map<number, number>();
  for (let round = 0; round < 20_000; round++) {
    const [first] = splitSecret(Uint8Array.of(42), { threshold: 2, total: 2 });
    const value = first?.share[0] ?? -1;
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  assertEquals(counts.size, 256);
});

Deno.test("splitSecret() of the same secret gives other shares each time", () => {
  const secret = new Uint8Array(32).fill(1);
  const options = { threshold: 2, total: 3 };
  assertNotEquals(splitSecret(secret, options), splitSecret(secret, options));
});

Deno.test("splitSecret() and combineShares() refuse what cannot be", () => {
  const secret = Uint8Array.of(1);
  for (const [threshold, total] of [[0, 1], [2, 1], [1, 255], [1.5, 2]]) {
    assertThrows(
      () =>
        splitSecret(secret, { threshold: threshold ?? 0, total: total ?? 0 }),
      RangeError,
    );
  }
  const share = (index: number, length = 1) => ({
    index,
    share: new Uint8Array(length),
  });
  for (
    const shares of [
      [],
      [share(1), share(1)],
      [share(1), share(2, 2)],
      [share(0)],
      [share(256)],
    ]
  ) assertThrows(() => combineShares(shares), RangeError);
});
