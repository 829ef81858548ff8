/**
 * The .proto files read by protobufjs, the independent library that the codecs
 * are compared with.
 *
 * @module
 */

import protobuf from "npm:protobufjs@^7.5.0";

const FILES = [
  "envoy/type/v3/ratelimit_unit.proto",
  "envoy/config/core/v3/base.proto",
  "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
  "envoy/service/ratelimit/v3/rls.proto",
  "envoy/service/discovery/v3/ads.proto",
  "envoy/service/discovery/v3/discovery.proto",
  "google/rpc/status.proto",
  "grpc/health/v1/health.proto",
  "grpc/reflection/v1/reflection.proto",
  "grpc/reflection/v1alpha/reflection.proto",
  "ratelimit/config/ratelimit/v3/rls_conf.proto",
];
const WELL_KNOWN = ["any", "duration", "struct", "timestamp", "wrappers"];

/**
 * One message type of the .proto files, as the independent library encodes and
 * decodes it.
 */
export interface IndependentType {
  /** Encodes a message given in protobufjs' plain form. */
  encode(message: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * Decodes a message into the plain form: 64-bit numbers as numbers, enums as
   * numbers, null for an absent message.
   */
  decode(bytes: Uint8Array): Record<string, unknown>;
}

/**
 * Reads the .proto files; returns a function that finds a type by full name.
 */
export async function loadSchema(): Promise<
  (fullName: string) => IndependentType
> {
  const root = new protobuf.Root();
  for (const name of WELL_KNOWN) {
    const file = protobuf.common.get(`google/protobuf/${name}.proto`);
    if (file?.nested === undefined) throw new Error(`No common proto ${name}`);
    root.addJSON(file.nested);
  }
  for (const file of FILES) {
    const source = await Deno.readTextFile(
      new URL(`../${file}`, import.meta.url),
    );
    protobuf.parse(source, root);
  }
  root.resolveAll();
  return (fullName) => {
    const type = root.lookupType(fullName);
    return {
      // The library may return a buffer of its own kind.
      encode: (message) =>
        Uint8Array.from(type.encode(type.fromObject(message)).finish()),
      decode: (bytes) =>
        type.toObject(type.decode(bytes), { defaults: true, longs: Number }),
    };
  };
}
