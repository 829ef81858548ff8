import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { PublicExchange } from "./public_exchange.ts";
import { parseHead } from "./public_head.ts";
import { PublicRequest } from "./public_request.ts";
import type { HttpHandler } from "./exchange.ts";
import type { PublicBody } from "./public_body.ts";

function exchangeWith(handler: HttpHandler): PublicExchange {
  const outcome = parseHead("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  if (outcome.kind !== "ok") throw new Error("the head is malformed");
  const body: Pick<PublicBody, "isMalformed"> = { isMalformed: false };
  const request = new PublicRequest(outcome.head, body as PublicBody, {
    peer: { address: "192.0.2.1", port: 1 },
    isTls: false,
  });
  return new PublicExchange({
    request,
    body: body as PublicBody,
    handler,
    logger: new RecordingLogger(),
  });
}

Deno.test("PublicExchange.cut() answers 503 in the place of a handler that takes long", async () => {
  const exchange = exchangeWith(() => new Promise(() => {}));
  const answer = exchange.answer();
  exchange.cut();
  assertEquals((await answer).status, 503);
});

Deno.test("PublicExchange.answer() does not ask the handler when it was cut before", async () => {
  let isAsked = false;
  const exchange = exchangeWith(() => {
    isAsked = true;
    return { status: 200, headers: {} };
  });
  exchange.cut();
  assertEquals((await exchange.answer()).status, 503);
  assertEquals(isAsked, false);
});
