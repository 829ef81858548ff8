/**
 * The messages of `grpc.health.v1` as a client of tests writes and reads them.
 *
 * @module
 */

import { SERVING_STATUS, type ServingStatus } from "../health.ts";
import { type MalformedFault, WireReader } from "../wire.ts";
import { WireWriter } from "../wire_writer.ts";

const RESPONSE_STATUS = 1 << 3;
const LIST_STATUSES = 1 << 3 | 2;
const LIST_KEY = 1 << 3 | 2;
const LIST_VALUE = 2 << 3 | 2;

/** Writes the request for the state of one service. */
export function encodeHealthCheckRequest(
  request: { readonly service: string },
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter();
  if (request.service !== "") writer.text(1, request.service);
  return writer.finish();
}

/**
 * Reads the state of one service; returns a fault (`"kind" in result`) for
 * malformed bytes.
 */
export function decodeHealthCheckResponse(
  bytes: Uint8Array,
): { readonly status: ServingStatus } | MalformedFault {
  const reader = new WireReader(bytes);
  const status = readStatus(reader, SERVING_STATUS.UNKNOWN);
  return reader.fault("health response") ?? { status };
}

/** Writes the request for the states of all services. */
export function encodeHealthListRequest(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(0);
}

/**
 * Reads the states of all services; returns a fault (`"kind" in result`) for
 * malformed bytes.
 */
export function decodeHealthListResponse(
  bytes: Uint8Array,
): { readonly statuses: ReadonlyMap<string, ServingStatus> } | MalformedFault {
  const reader = new WireReader(bytes);
  const statuses = new Map<string, ServingStatus>();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === LIST_STATUSES) readListed(reader, statuses);
    else reader.skip(tag);
  }
  return reader.fault("health list response") ?? { statuses };
}

function readStatus(reader: WireReader, before: ServingStatus): ServingStatus {
  let status = before;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === RESPONSE_STATUS) status = toStatus(reader.int32());
    else reader.skip(tag);
  }
  return status;
}

function readListed(
  reader: WireReader,
  statuses: Map<string, ServingStatus>,
): void {
  const entry = reader.open();
  let service = "";
  let status: ServingStatus = SERVING_STATUS.UNKNOWN;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === LIST_KEY) service = reader.text();
    else if (tag === LIST_VALUE) {
      const value = reader.open();
      status = readStatus(reader, status);
      reader.close(value);
    } else reader.skip(tag);
  }
  reader.close(entry);
  statuses.set(service, status);
}

/**
 * Returns the status of a number; a number this version does not know is
 * UNKNOWN.
 */
function toStatus(number: number): ServingStatus {
  switch (number) {
    case SERVING_STATUS.SERVING:
    case SERVING_STATUS.NOT_SERVING:
    case SERVING_STATUS.SERVICE_UNKNOWN:
      return number;
    default:
      return SERVING_STATUS.UNKNOWN;
  }
}
