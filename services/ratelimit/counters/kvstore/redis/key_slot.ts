/**
 * Which of a cluster's slots a key belongs to.
 *
 * @module
 */

/** Number of slots of every cluster. */
export const SLOT_COUNT = 16_384;

const POLYNOMIAL = 0x1021;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * The slot of a key: the CRC-16 (XMODEM) of the key modulo 16384, or of what is
 * between its first `{` and the next `}` when that is not empty (cluster
 * specification, "Hash tags").
 */
export function keySlot(key: Uint8Array): number {
  const open = key.indexOf(OPEN);
  const close = open < 0 ? -1 : key.indexOf(CLOSE, open + 1);
  const tagged = close > open + 1;
  const start = tagged ? open + 1 : 0;
  const end = tagged ? close : key.length;
  let crc = 0;
  for (let i = start; i < end; i++) {
    crc ^= key[i]! << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? (crc << 1 ^ POLYNOMIAL) & 0xffff : crc << 1;
    }
  }
  return crc % SLOT_COUNT;
}
