/**
 * The messages of `grpc.health.v1`, the standard health service, as a server reads
 * and writes them.
 *
 * @module
 */

import { type MalformedFault, WireReader } from "./wire.ts";
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

/** The service whose state is asked for. */
interface HealthCheckRequest {
  /** Name of the service; empty for the server as a whole. */
  readonly service: string;
}

/** The answer with the state of one service. */
interface HealthCheckResponse {
  /** The state. */
  readonly status: ServingStatus;
}

/** Requests the states of all services; it has no fields. */
type HealthListRequest = Readonly<Record<never, never>>;

/** The states of all services a server knows. */
interface HealthListResponse {
  /** State by name of the service. */
  readonly statuses: ReadonlyMap<string, ServingStatus>;
}

const REQUEST_SERVICE = 1 << 3 | 2;

/**
 * Reads the request for the state of one service; returns a fault (`"kind" in
 * result`) for malformed bytes.
 */
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

/**
 * Reads the request for the states of all services; returns a fault (`"kind" in
 * result`) for malformed bytes.
 */
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

function writeStatus(writer: WireWriter, status: ServingStatus): void {
  if (status !== SERVING_STATUS.UNKNOWN) writer.uint(1, status);
}
