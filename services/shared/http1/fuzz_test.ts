import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { echo, withTestServer } from "./testing/test_server.ts";

const SEEDS = [
  "GET /a HTTP/1.1\r\nhost: x\r\n\r\n",
  "POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello",
  "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" +
  "5;a=b\r\nhello\r\n0\r\nt: u\r\n\r\n",
  "POST /d HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n" +
  "content-length: 70000\r\n\r\n",
  "HEAD /e HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
];
const SPLINTERS = ["\r\n", "\n", "\r", "\0", ":", " ", "0", "f", "\xff", ","];

/** A conversation with a few bytes changed, lost or put in. */
function mutated(random: SeededRandom): string {
  let text = Array.from(
    { length: 1 + random.below(3) },
    () => random.pick(SEEDS),
  ).join("");
  for (let change = random.below(4); change > 0; change--) {
    const at = random.below(text.length);
    const lost = random.below(3);
    const put = random.chance(0.7) ? random.pick(SPLINTERS) : "";
    text = text.slice(0, at) + put + text.slice(at + lost);
  }
  return text;
}

Deno.test("Http1Server outlives whatever is sent to it", async () => {
  const random = new SeededRandom(20_270_115);
  await withTestServer(
    { handler: echo },
    async ({ connect, server, logger }) => {
      for (let round = 0; round < 600; round++) {
        const client = await connect();
        const text = mutated(random);
        const cut = random.below(text.length);
        await client.trySend(text.slice(0, cut));
        await client.trySend(text.slice(cut));
        if (random.chance(0.5)) {
          client.close();
          continue;
        }
        await client.sendEnd().catch(() => {});
        const received = await client.rest();
        // Nothing but answers comes back, and each of them begins like one.
        const isAnswer = received === "" || received.startsWith("HTTP/1.1 ");
        assertEquals([text, isAnswer], [text, true]);
        client.close();
      }
      await waitUntil(() => server.connections === 0, { what: "the end" });
      const client = await connect();
      await client.send(SEEDS[1]!);
      assertEquals((await client.answer()).body, "POST /b hello");
      assertEquals(logger.messages.filter((it) => !it.includes("broke")), []);
    },
  );
});
