/**
 * What the gRPC library reads of the environment. In a file of its own, which
 * loads no package, because permissions are made from it.
 *
 * @module
 */

/**
 * Environment variables the gRPC library reads, as of 1.14. A program that
 * runs with a list of allowed variables names them, or has the runtime answer
 * "undefined" for those it does not allow.
 */
export const GRPC_JS_ENVIRONMENT: readonly string[] = [
  "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
  "GRPC_EXPERIMENTAL_ENABLE_OUTLIER_DETECTION",
  "GRPC_NODE_DEBUG_SEND_ERROR_DETAILS",
  "GRPC_NODE_TRACE",
  "GRPC_NODE_USE_ALTERNATIVE_RESOLVER",
  "GRPC_NODE_VERBOSITY",
  "GRPC_SSL_CIPHER_SUITES",
  "GRPC_TRACE",
  "GRPC_VERBOSITY",
  "grpc_proxy",
  "http_proxy",
  "https_proxy",
  "no_grpc_proxy",
  "no_proxy",
];
