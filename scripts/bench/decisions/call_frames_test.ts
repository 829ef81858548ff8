import { assertEquals } from "@std/assert";
import {
  decodeRateLimitRequest,
  type RateLimitRequest,
} from "../../../proto/rate_limit_request.ts";
import { RequestView } from "../../../proto/request_view.ts";
import { requestOfView } from "../../../proto/testing/request_of_view.ts";
import { splitFrames } from "../../../tests/support/h2_frames.ts";
import { callFrames, callMessage } from "./call_frames.ts";

function decoded(bytes: Uint8Array): RateLimitRequest {
  const view = new RequestView();
  assertEquals(decodeRateLimitRequest(bytes, view), undefined);
  return requestOfView(view);
}

Deno.test("callMessage() is a request of that many descriptors", () => {
  const request = decoded(callMessage({ descriptors: 3 }, 42));
  assertEquals(request.domain, "bench");
  const pairs = [
    { key: "path", value: "/api/v1/items" },
    { key: "method", value: "GET" },
  ];
  assertEquals(request.descriptors.map(({ entries }) => entries), [
    [{ key: "remote_address", value: "000000042" }],
    pairs,
    pairs,
  ]);
});

Deno.test("callFrames() gives each call a stream, and its own value and header", () => {
  const calls = callFrames({ values: 3, descriptors: 1, isHeaderNew: true });
  const frames = [2, 3].flatMap((count) =>
    splitFrames(calls.next(count).slice())
  );
  assertEquals(
    frames.map(({ type, streamId }) => [type, streamId]),
    [1, 3, 5, 7, 9].flatMap((stream) => [[1, stream], [0, stream]]),
  );
  const values = frames.filter(({ type }) => type === 0)
    .map(({ payload }) => decoded(payload.slice(5)))
    .map(({ descriptors }) => descriptors[0]?.entries[0]?.value);
  assertEquals(
    values,
    ["0", "1", "2", "0", "1"].map((end) => `00000000${end}`),
  );
  const headers = frames.filter(({ type }) => type === 1)
    .map(({ payload }) => new TextDecoder("latin1").decode(payload).slice(-1));
  assertEquals(headers, ["0", "1", "2", "3", "4"]);
});
