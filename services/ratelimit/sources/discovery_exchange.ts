/**
 * What a client of the discovery protocol answers: which versions and nonces its
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

/** What came from the server. */
export type DiscoveryArrival =
  | {
    readonly kind: "resources";
    /** The version they will have when they are accepted. */
    readonly version: string;
    /** All resources there are; may be none. */
    readonly resources: readonly ConfigMessage[];
  }
  | {
    /** To be refused as it is. */
    readonly kind: "foreign";
    /** Why. */
    readonly reason: string;
  }
  | {
    /** Nothing can be answered to this: the stream is of no more use. */
    readonly kind: "malformed";
    /** Why. */
    readonly reason: string;
  };

/** The type that is asked for. */
const TYPE_URL = `type.googleapis.com/${RATE_LIMIT_CONFIG_TYPE}`;

/** What a refusal may say at most; a server logs it. */
const MAX_REASON_CHARS = 8_192;

/**
 * The client's side of the exchange, over one stream after the other. The
 * version outlives a stream; a nonce is known within its stream alone.
 */
export class DiscoveryExchange {
  readonly #node: DiscoveryNode;
  #version = "";
  #nonce = "";
  /** Version of the response that is neither accepted nor refused. */
  #pending = "";

  /** An exchange in which nothing has been accepted. */
  constructor(node: DiscoveryNode) {
    this.#node = node;
  }

  /** Version of what was accepted last; empty when nothing was. */
  get version(): string {
    return this.#version;
  }

  /**
   * The first request of a stream.
   *
   * @param forced Asks for the resources also when their version is in force.
   */
  begin({ forced }: { readonly forced: boolean }): Uint8Array {
    this.#nonce = "";
    return this.#request({ version: forced ? "" : this.#version });
  }

  /** Takes a response, which `accept` or `refuse` answers. */
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
      const reason = `Cannot take resources of type ${quote(foreign)}: only ` +
        `${TYPE_URL} was asked for`;
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

  /** The request that accepts the response taken last. */
  accept(): Uint8Array {
    this.#version = this.#pending;
    return this.#request({ version: this.#version });
  }

  /** The request that refuses it; the version accepted before stays. */
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
      // A server may begin to listen in the middle of a stream.
      node: this.#node,
      typeUrl: TYPE_URL,
      responseNonce: this.#nonce,
      error,
    });
  }
}

/** The first type that was not asked for; undefined when all are right. */
function foreignType(
  typeUrl: string,
  resources: readonly DiscoveryResource[],
): string | undefined {
  // A response may leave its type to its resources.
  const types = typeUrl === "" ? [] : [typeUrl];
  return [...types, ...resources.map((resource) => resource.typeUrl)]
    .find((type) => !isRules(type));
}

/** The host before the slash is the server's to choose. */
function isRules(typeUrl: string): boolean {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1) === RATE_LIMIT_CONFIG_TYPE;
}
