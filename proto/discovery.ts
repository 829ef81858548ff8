/**
 * The messages of Envoy's discovery protocol, as a client writes and reads them:
 * `envoy.service.discovery.v3.DiscoveryRequest` and `DiscoveryResponse`.
 *
 * @module
 */

import { type JsonObject, writeStruct } from "./struct.ts";
import { type MalformedFault, WireReader } from "./wire.ts";
import { WireWriter } from "./wire_writer.ts";

/** The client that asks for configuration: `envoy.config.core.v3.Node`. */
export interface DiscoveryNode {
  /** The node's name. */
  readonly id: string;
  /** Further properties by which a control plane tells nodes apart. */
  readonly metadata: JsonObject;
}

/**
 * Requests all resources of a type, and accepts or refuses the last response.
 */
export interface DiscoveryRequest {
  /** Version of the configuration in force; empty before the first response. */
  readonly versionInfo: string;
  /** The node that asks. */
  readonly node: DiscoveryNode;
  /** Type URL of the resources; all resources of the type are requested. */
  readonly typeUrl: string;
  /**
   * Nonce of the response that this request answers; empty when it answers no
   * response.
   */
  readonly responseNonce: string;
  /** Why that response was refused; undefined when it was accepted. */
  readonly error: DiscoveryError | undefined;
}

/** Why a response is refused: `google.rpc.Status`, without details. */
export interface DiscoveryError {
  /** A status code of gRPC. */
  readonly code: number;
  /** The reason in words. */
  readonly message: string;
}

/** One resource: `google.protobuf.Any`. */
export interface DiscoveryResource {
  /** The type of the message. */
  readonly typeUrl: string;
  /** The message, a view of the response's bytes. */
  readonly value: Uint8Array;
}

/** All resources of a type. */
export interface DiscoveryResponse {
  /** Version of the resources. */
  readonly versionInfo: string;
  /** The resources. */
  readonly resources: readonly DiscoveryResource[];
  /** Type URL of the resources. */
  readonly typeUrl: string;
  /** Identifies the response within its stream. */
  readonly nonce: string;
}

const RESPONSE_VERSION_INFO = 1 << 3 | 2;
const RESPONSE_RESOURCES = 2 << 3 | 2;
const RESPONSE_TYPE_URL = 4 << 3 | 2;
const RESPONSE_NONCE = 5 << 3 | 2;
const ANY_TYPE_URL = 1 << 3 | 2;
const ANY_VALUE = 2 << 3 | 2;

/**
 * Writes a request.
 *
 * @throws {RangeError} When the node's metadata is nested too deep, see
 * `writeStruct`.
 */
export function encodeDiscoveryRequest(
  request: DiscoveryRequest,
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter();
  writeText(writer, 1, request.versionInfo);
  const node = writer.open(2);
  writeText(writer, 1, request.node.id);
  const metadata = writer.open(3);
  writeStruct(writer, request.node.metadata);
  writer.close(metadata);
  writer.close(node);
  writeText(writer, 4, request.typeUrl);
  writeText(writer, 5, request.responseNonce);
  if (request.error !== undefined) {
    const error = writer.open(6);
    if (request.error.code !== 0) writer.int(1, request.error.code);
    writeText(writer, 2, request.error.message);
    writer.close(error);
  }
  return writer.finish();
}

/**
 * Reads a response; returns a fault (`"kind" in result`) for malformed bytes.
 */
export function decodeDiscoveryResponse(
  bytes: Uint8Array,
): DiscoveryResponse | MalformedFault {
  const reader = new WireReader(bytes);
  const resources: DiscoveryResource[] = [];
  let versionInfo = "";
  let typeUrl = "";
  let nonce = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case RESPONSE_VERSION_INFO:
        versionInfo = reader.text();
        break;
      case RESPONSE_RESOURCES:
        resources.push(readResource(reader));
        break;
      case RESPONSE_TYPE_URL:
        typeUrl = reader.text();
        break;
      case RESPONSE_NONCE:
        nonce = reader.text();
        break;
      default:
        reader.skip(tag);
    }
  }
  return reader.fault("discovery response") ??
    { versionInfo, resources, typeUrl, nonce };
}

function readResource(reader: WireReader): DiscoveryResource {
  const outer = reader.open();
  let typeUrl = "";
  let value: Uint8Array = new Uint8Array();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ANY_TYPE_URL) typeUrl = reader.text();
    else if (tag === ANY_VALUE) value = reader.bytes();
    else reader.skip(tag);
  }
  reader.close(outer);
  return { typeUrl, value };
}

/** Writes a text field unless it is empty: proto3 leaves default values out. */
function writeText(writer: WireWriter, field: number, text: string): void {
  if (text !== "") writer.text(field, text);
}
