import { assert, assertEquals } from "@std/assert";
import { fuzz } from "./fuzz.ts";

const ROUNDS = 300 * Number(Deno.env.get("TEST_EFFORT") ?? 1);

Deno.test("ratelimit answers honest callers as it must beside clients that break HTTP/2, HPACK and protobuf", async () => {
  const { rounds, honestCalls, answers, goaways, faults } = await fuzz({
    seed: 1_700,
    goesOn: (count) => count < ROUNDS,
    tell: () => {},
  });
  assertEquals(faults, []);
  assert(rounds >= ROUNDS && honestCalls > 0);
  // Enough of the conversations are valid to be answered, and enough are
  // invalid.
  assert(
    answers > ROUNDS / 4 && goaways > ROUNDS / 10,
    `${answers} ${goaways}`,
  );
});
