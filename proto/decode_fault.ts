/**
 * Why a message could not be decoded, as a value.
 *
 * @module
 */

/** The bytes are not a message of the expected type. */
export interface MalformedFault {
  /** Tells the faults apart. */
  readonly kind: "malformed";
  /** What is wrong and where, such as `Cannot decode request: truncated field 2 at byte 17`. */
  readonly reason: string;
}

/** The message is well formed, but holds more descriptors than the caller takes. */
interface TooManyDescriptorsFault {
  /** Tells the faults apart. */
  readonly kind: "too_many_descriptors";
  /** How many are allowed and how many came. */
  readonly reason: string;
  /** Number of descriptors in the message. */
  readonly count: number;
}

/**
 * Why a message could not be decoded. No message type has a field `kind`, so
 * `"kind" in result` tells a fault from a decoded message.
 */
export type DecodeFault = MalformedFault | TooManyDescriptorsFault;
