/**
 * The client's side of the discovery protocol: which versions and nonces its
 * requests carry
 * (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol, the state
 * of the world over an aggregated stream).
 *
 * @module
 */

import {
  decodeDiscoveryResponse,
  type DiscoveryError,
  type DiscoveryNode,
  type DiscoveryResource,
  encodeDiscoveryRequest,
} from "../../../proto/discovery.ts";
import { RATE_LIMIT_CONFIG_TYPE } from "../../../proto/rate_limit_config.ts";
import { GRPC_STATUS } from "../../shared/grpc/method.ts";
import { quote } from "../../shared/quote.ts";
import type { ConfigMessage } from "../rules/read_message.ts";

/** A response of the server, as it was read. */
export type DiscoveryArrival =
  | {
    readonly kind: "resources";
    /**
     * The version that these resources have, in force once they are accepted.
     */
    readonly version: string;
    /** All resources of the server; may be empty. */
    readonly resources: readonly ConfigMessage[];
  }
  | {
    /** The response has resources of another type, and must be refused. */
    readonly kind: "foreign";
    /** Why it must be refused. */
    readonly reason: string;
  }
  | {
    /**
     * The response cannot be read, and not be answered: the stream is of no
     * use.
     */
    readonly kind: "malformed";
    /** Why it cannot be read. */
    readonly reason: string;
  };

/** Type URL of the resources that are requested. */
const TYPE_URL = `type.googleapis.com/${RATE_LIMIT_CONFIG_TYPE}`;

/** Most characters of a refusal's reason, which a server logs. */
const MAX_REASON_CHARS = 8_192;

/**
 * The client's side of the exchange, over one stream after the other. The
 * version outlives a stream; a nonce is valid within its stream only.
 */
export class DiscoveryExchange {
  readonly #node: DiscoveryNode;
  #version = "";
  #nonce = "";
  /** Version of the response that is neither accepted nor refused yet. */
  #pending = "";

  /** Makes an exchange in which nothing has been accepted. */
  constructor(node: DiscoveryNode) {
    this.#node = node;
  }

  /** The version that was accepted last; empty before the first. */
  get version(): string {
    return this.#version;
  }

  /**
   * Returns the first request of a stream.
   *
   * @param forced True to request the resources even when their version is in
   * force.
   */
  begin({ forced }: { readonly forced: boolean }): Uint8Array {
    this.#nonce = "";
    return this.#request({ version: forced ? "" : this.#version });
  }

  /** Takes a response; the caller answers it by `accept` or `refuse`. */
  take(bytes: Uint8Array): DiscoveryArrival {
    const response = decodeDiscoveryResponse(bytes);
    if ("kind" in response) {
      return { kind: "malformed", reason: response.reason };
    }
    const { nonce, versionInfo: version, typeUrl, resources } = response;
    this.#nonce = nonce;
    this.#pending = version;
    const foreign = foreignType(typeUrl, resources);
    if (foreign !== undefined) {
      const reason = `Cannot accept resources of type ${quote(foreign)}: ` +
        `only ${TYPE_URL} was requested`;
      return { kind: "foreign", reason };
    }
    return {
      kind: "resources",
      version,
      resources: resources.map(({ value }, index) => ({
        name: `resources[${index}]`,
        bytes: value,
      })),
    };
  }

  /** Returns the request that accepts the response taken last. */
  accept(): Uint8Array {
    this.#version = this.#pending;
    return this.#request({ version: this.#version });
  }

  /**
   * Returns the request that refuses the response taken last; the version
   * accepted before stays.
   */
  refuse(reason: string): Uint8Array {
    const message = reason.length > MAX_REASON_CHARS
      ? `${reason.slice(0, MAX_REASON_CHARS)}…`
      : reason;
    return this.#request({
      version: this.#version,
      error: { code: GRPC_STATUS.INVALID_ARGUMENT, message },
    });
  }

  #request({ version, error }: {
    readonly version: string;
    readonly error?: DiscoveryError | undefined;
  }): Uint8Array {
    return encodeDiscoveryRequest({
      versionInfo: version,
      // In every request, as a server may begin to listen in the middle of a
      // stream.
      node: this.#node,
      typeUrl: TYPE_URL,
      responseNonce: this.#nonce,
      error,
    });
  }
}

/**
 * Returns the first type that was not requested; undefined when all are right.
 */
function foreignType(
  typeUrl: string,
  resources: readonly DiscoveryResource[],
): string | undefined {
  // A response may leave its type to its resources.
  const types = typeUrl === "" ? [] : [typeUrl];
  return [...types, ...resources.map((resource) => resource.typeUrl)]
    .find((type) => !isRules(type));
}

/** True for the type of rules; the server chooses the host before the slash. */
function isRules(typeUrl: string): boolean {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1) === RATE_LIMIT_CONFIG_TYPE;
}
