/**
 * Measures the time of the protobuf and JSON codecs:
 * `deno bench scripts/bench/proto_bench.ts`.
 *
 * @module
 */

import {
  requestFromJson,
  responseToJson,
} from "../../proto/rate_limit_json.ts";
import {
  decodeRateLimitRequest,
  encodeRateLimitRequest,
  type RateLimitRequest,
} from "../../proto/rate_limit_request.ts";
import {
  CODE,
  decodeRateLimitResponse,
  encodeRateLimitResponse,
  type RateLimitResponse,
  UNIT,
} from "../../proto/rate_limit_response.ts";
import { RequestView } from "../../proto/request_view.ts";
import { WireWriter } from "../../proto/wire_writer.ts";

const request: RateLimitRequest = {
  domain: "checkout",
  descriptors: [
    { entries: [{ key: "remote_address", value: "203.0.113.77" }] },
    {
      entries: [
        { key: "tenant", value: "acme" },
        { key: "path", value: "/v1/orders" },
      ],
    },
  ],
};
const withLimit: RateLimitRequest = {
  domain: "checkout",
  descriptors: request.descriptors.map((descriptor) => ({
    ...descriptor,
    limit: { requestsPerUnit: 1_000, unit: UNIT.HOUR },
    hitsAddend: 5,
  })),
};
const status = {
  code: CODE.OK,
  currentLimit: { requestsPerUnit: 1_000, unit: UNIT.MINUTE },
  limitRemaining: 987,
  durationUntilResetSeconds: 37,
};
const response: RateLimitResponse = {
  overallCode: CODE.OK,
  statuses: [status, status],
  responseHeadersToAdd: [],
};
const view = new RequestView();
const writer = new WireWriter(16_384);
const requestBytes = encodeRateLimitRequest(request);
const withLimitBytes = encodeRateLimitRequest(withLimit);
const responseBytes = encodeRateLimitResponse(response);
const requestJson = JSON.stringify(request);

Deno.bench("decode request, 2 descriptors", () => {
  decodeRateLimitRequest(requestBytes, view);
});

Deno.bench("decode request, 2 descriptors with limit and hits", () => {
  decodeRateLimitRequest(withLimitBytes, view);
});

Deno.bench("encode request, 2 descriptors", () => {
  encodeRateLimitRequest(request);
});

Deno.bench("encode response, 2 statuses", () => {
  encodeRateLimitResponse(response);
});

Deno.bench("encode response, 2 statuses, writer used again", () => {
  encodeRateLimitResponse(response, { writer });
});

Deno.bench("decode response, 2 statuses", () => {
  decodeRateLimitResponse(responseBytes);
});

Deno.bench("request from JSON, 2 descriptors", () => {
  requestFromJson(requestJson);
});

Deno.bench("response to JSON, 2 statuses", () => {
  responseToJson(response);
});
