import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { HttpHandler } from "../http/exchange.ts";
import type { RequestBody } from "./body.ts";
import { Exchange, Http1Request } from "./exchange.ts";
import { parseHead } from "./head.ts";

function exchangeWith(handler: HttpHandler): Exchange {
  const outcome = parseHead("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  if (outcome.kind !== "ok") throw new Error("the head is malformed");
  const body: Pick<RequestBody, "isMalformed"> = { isMalformed: false };
  const request = new Http1Request(outcome.head, body as RequestBody, {
    peer: { address: "192.0.2.1", port: 1 },
    isTls: false,
  });
  return new Exchange(request, body as RequestBody, {
    handler,
    logger: new RecordingLogger(),
  });
}

Deno.test("Exchange.cut() answers 503 in the place of a handler that takes long", async () => {
  const exchange = exchangeWith(() => new Promise(() => {}));
  const answer = exchange.answer();
  exchange.cut();
  assertEquals((await answer).status, 503);
});

Deno.test("Exchange.answer() does not ask the handler when it was cut before", async () => {
  let isAsked = false;
  const exchange = exchangeWith(() => {
    isAsked = true;
    return { status: 200, headers: {} };
  });
  exchange.cut();
  assertEquals((await exchange.answer()).status, 503);
  assertEquals(isAsked, false);
});
