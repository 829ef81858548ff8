/**
 * The messages of `grpc.health.v1`, the standard health service.
 *
 * @module
 */

import type { MalformedFault } from "./decode_fault.ts";
import { WireReader } from "./wire.ts";
import { WireWriter } from "./wire_writer.ts";

/** `HealthCheckResponse.ServingStatus`. */
export const SERVING_STATUS = {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  /** Sent by Watch only. */
  SERVICE_UNKNOWN: 3,
} as const;

/** One of the numbers of {@linkcode SERVING_STATUS}. */
export type ServingStatus = typeof SERVING_STATUS[keyof typeof SERVING_STATUS];

/** Which service is asked about. */
export interface HealthCheckRequest {
  /** Its name; empty for the server as a whole. */
  readonly service: string;
}

/** The state of one service. */
export interface HealthCheckResponse {
  /** The state. */
  readonly status: ServingStatus;
}

/** Asks for all states; it has no fields. */
export type HealthListRequest = Readonly<Record<never, never>>;

/** The states of all services a server knows. */
export interface HealthListResponse {
  /** State by name of the service. */
  readonly statuses: ReadonlyMap<string, ServingStatus>;
}

const REQUEST_SERVICE = 1 << 3 | 2;
const RESPONSE_STATUS = 1 << 3;
const LIST_STATUSES = 1 << 3 | 2;
const LIST_KEY = 1 << 3 | 2;
const LIST_VALUE = 2 << 3 | 2;

/** Writes the question about one service. */
export function encodeHealthCheckRequest(
  request: HealthCheckRequest,
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter();
  if (request.service !== "") writer.text(1, request.service);
  return writer.finish();
}

/** Reads the question about one service; `"kind" in result` tells a fault. */
export function decodeHealthCheckRequest(
  bytes: Uint8Array,
): HealthCheckRequest | MalformedFault {
  const reader = new WireReader(bytes);
  let service = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === REQUEST_SERVICE) service = reader.text();
    else reader.skip(tag);
  }
  return reader.fault("health request") ?? { service };
}

/** Writes the state of one service. */
export function encodeHealthCheckResponse(
  response: HealthCheckResponse,
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter(16);
  writeStatus(writer, response.status);
  return writer.finish();
}

/** Reads the state of one service; `"kind" in result` tells a fault. */
export function decodeHealthCheckResponse(
  bytes: Uint8Array,
): HealthCheckResponse | MalformedFault {
  const reader = new WireReader(bytes);
  const status = readStatus(reader, SERVING_STATUS.UNKNOWN);
  return reader.fault("health response") ?? { status };
}

/** Writes the question about all services. */
export function encodeHealthListRequest(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(0);
}

/** Reads the question about all services; `"kind" in result` tells a fault. */
export function decodeHealthListRequest(
  bytes: Uint8Array,
): HealthListRequest | MalformedFault {
  const reader = new WireReader(bytes);
  while (reader.hasMore()) reader.skip(reader.tag());
  return reader.fault("health list request") ?? {};
}

/** Writes the states of all services. */
export function encodeHealthListResponse(
  response: HealthListResponse,
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter();
  for (const [service, status] of response.statuses) {
    const field = writer.open(1);
    if (service !== "") writer.text(1, service);
    const mark = writer.open(2);
    writeStatus(writer, status);
    writer.close(mark);
    writer.close(field);
  }
  return writer.finish();
}

/** Reads the states of all services; `"kind" in result` tells a fault. */
export function decodeHealthListResponse(
  bytes: Uint8Array,
): HealthListResponse | MalformedFault {
  const reader = new WireReader(bytes);
  const statuses = new Map<string, ServingStatus>();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === LIST_STATUSES) readListed(reader, statuses);
    else reader.skip(tag);
  }
  return reader.fault("health list response") ?? { statuses };
}

function writeStatus(writer: WireWriter, status: ServingStatus): void {
  if (status !== SERVING_STATUS.UNKNOWN) writer.uint(1, status);
}

function readStatus(reader: WireReader, before: ServingStatus): ServingStatus {
  let status = before;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === RESPONSE_STATUS) status = statusOf(reader.int32());
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

/** A number this version does not know says nothing: UNKNOWN. */
function statusOf(number: number): ServingStatus {
  switch (number) {
    case SERVING_STATUS.SERVING:
    case SERVING_STATUS.NOT_SERVING:
    case SERVING_STATUS.SERVICE_UNKNOWN:
      return number;
    default:
      return SERVING_STATUS.UNKNOWN;
  }
}
