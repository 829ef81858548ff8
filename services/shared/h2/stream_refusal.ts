/**
 * What callers are told whose requests cannot be read.
 *
 * @module
 */

import type { MessageFault } from "./message_reader.ts";
import type { StatusText } from "./response_headers.ts";

// Numbers of gRPC statuses (grpc/doc/statuscodes.md).
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;

/** The deadline has passed before the answer was there. */
export const DEADLINE_STATUS: StatusText = {
  code: DEADLINE_EXCEEDED,
  message: "Cannot answer: the deadline has passed",
};

/** No method has that path. */
export const UNKNOWN_METHOD_STATUS: StatusText = {
  code: UNIMPLEMENTED,
  message: "Cannot answer: the method is not known",
};

/** The deadline is no number with a unit. */
export const BAD_TIMEOUT_STATUS: StatusText = {
  code: INTERNAL,
  message: 'Cannot answer: the header "grpc-timeout" is malformed',
};

/** The body ends before its message does, or holds none. */
export const NO_MESSAGE_STATUS: StatusText = {
  code: INTERNAL,
  message: "Cannot read the request: it holds no whole message",
};

/** The status for what is wrong with a body. */
export function faultStatus(
  fault: MessageFault,
  isEncoded: boolean,
): StatusText {
  switch (fault) {
    case "too_large":
      return {
        code: RESOURCE_EXHAUSTED,
        message: "Cannot read the request: its message is too large",
      };
    case "no_room":
      return {
        code: RESOURCE_EXHAUSTED,
        message: "Cannot read the request: too many messages are unfinished",
      };
    case "several":
      return {
        code: UNIMPLEMENTED,
        message: "Cannot read the request: it holds more than one message",
      };
    case "compressed":
      // gRPC asks for these two (doc/compression.md).
      return {
        code: isEncoded ? UNIMPLEMENTED : INTERNAL,
        message: "Cannot read the request: its message is compressed",
        tellsEncodings: true,
      };
    case "bad_flag":
      return {
        code: INTERNAL,
        message: "Cannot read the request: its message has an unknown flag",
      };
  }
}
