/**
 * CRC-32 as in zip and Ethernet (IEEE 802.3), to notice typing errors.
 *
 * @module
 */

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, remainderOf);

/** The checksum of ASCII text, from 0 to 2^32 - 1. */
export function crc32(text: string): number {
  let crc = 0xffff_ffff;
  for (let index = 0; index < text.length; index++) {
    crc = (crc >>> 8) ^ (TABLE[(crc ^ text.charCodeAt(index)) & 255] ?? 0);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}

function remainderOf(_: unknown, byte: number): number {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) {
    remainder = remainder & 1
      ? (remainder >>> 1) ^ 0xedb8_8320
      : remainder >>> 1;
  }
  return remainder >>> 0;
}
