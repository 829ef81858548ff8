import { Buffer } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { isSmallOrderKey, SignatureVerifier } from "./signature.ts";
import { makeSigner } from "./testing/signer.ts";

const P = 2n ** 255n - 19n;

Deno.test("isSmallOrderKey() knows every point whose order divides 8", () => {
  // Multiples of any point by the order of the large subgroup are those points.
  const large = 2n ** 252n + 27742317777372353535851937790883648493n;
  const found = new Set<string>();
  for (let y = 2n; found.size < 8 && y < 200n; y++) {
    const x = xOf(y);
    if (x === undefined) continue;
    const point = multiply({ x, y }, large);
    found.add(`${point.x},${point.y}`);
    for (let n = 2n; n <= 8n; n++) {
      const multiple = multiply(point, n);
      found.add(`${multiple.x},${multiple.y}`);
    }
  }
  assertEquals(found.size, 8);
  for (const point of found) {
    const [x, y] = point.split(",").map(BigInt);
    assert(x !== undefined && y !== undefined);
    assert(isSmallOrderKey(encode(y, Number(x & 1n))), point);
  }
});

Deno.test("isSmallOrderKey() knows them in their other spellings", () => {
  for (const y of [0n, 1n, P, P + 1n, P - 1n]) {
    for (const sign of [0, 1]) assert(isSmallOrderKey(encode(y, sign)));
  }
});

Deno.test("isSmallOrderKey() lets all other keys pass", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 1_000; round++) {
    assertEquals(isSmallOrderKey(random.bytes(32)), false);
  }
  assertEquals(isSmallOrderKey(encode(2n, 0)), false);
  assertEquals(isSmallOrderKey(encode(P - 2n, 1)), false);
});

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

function mod(value: bigint): bigint {
  return ((value % P) + P) % P;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, factor, left] = [1n, mod(base), exponent];
  for (; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * factor);
    factor = mod(factor * factor);
  }
  return result;
}

const inverse = (value: bigint): bigint => power(value, P - 2n);
const D = mod(-121665n * inverse(121666n));

/** The curve's law, −x² + y² = 1 + d x² y² (RFC 8032, 5.1.4). */
function add(a: Point, b: Point): Point {
  const product = mod(D * a.x * b.x * a.y * b.y);
  return {
    x: mod((a.x * b.y + b.x * a.y) * inverse(1n + product)),
    y: mod((a.y * b.y + a.x * b.x) * inverse(1n - product)),
  };
}

function multiply(point: Point, factor: bigint): Point {
  let [result, power, left] = [{ x: 0n, y: 1n }, point, factor];
  for (; left > 0n; left >>= 1n) {
    if (left & 1n) result = add(result, power);
    power = add(power, power);
  }
  return result;
}

function xOf(y: bigint): bigint | undefined {
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * power(2n, (P - 1n) / 4n));
  return mod(x * x) === square ? x : undefined;
}

function encode(y: bigint, sign: number): Uint8Array {
  const bytes = Uint8Array.from(
    { length: 32 },
    (_, index) => Number((y >> BigInt(8 * index)) & 255n),
  );
  bytes[31] = (bytes[31] ?? 0) | (sign << 7);
  return bytes;
}

const MESSAGE = new TextEncoder().encode("1700000000.GET./.00");

Deno.test("verify() takes the signature of the key, and no other", () => {
  const verifier = new SignatureVerifier();
  const ann = makeSigner(1);
  const ben = makeSigner(2);
  const signature = ann.sign(MESSAGE);
  const { publicKey } = ann;
  const message = MESSAGE;
  assert(verifier.verify({ publicKey, message, signature }));
  assert(
    !verifier.verify({ publicKey: ben.publicKey, message, signature }),
  );
  for (const index of [0, 31, 32, 63]) {
    const changed = Uint8Array.from(signature);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert(!verifier.verify({ publicKey, message, signature: changed }));
  }
  const other = MESSAGE.slice(1);
  assert(!verifier.verify({ publicKey, message: other, signature }));
});

Deno.test("verify() takes the vector of RFC 8032, 7.1, test 2", () => {
  const signature = Buffer.from(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    "hex",
  );
  const publicKey =
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
  const verifier = new SignatureVerifier();
  assert(
    verifier.verify({ publicKey, message: Uint8Array.of(0x72), signature }),
  );
});

Deno.test("verify() refuses what is neither a key nor a signature", () => {
  const verifier = new SignatureVerifier();
  const { publicKey, sign } = makeSigner(1);
  const signature = sign(MESSAGE);
  const message = MESSAGE;
  for (const key of ["", "00", "zz".repeat(32), "02".repeat(32)]) {
    assert(!verifier.verify({ publicKey: key, message, signature }));
    // The second time it is known to be none.
    assert(!verifier.verify({ publicKey: key, message, signature }));
  }
  for (const length of [0, 63, 65, 128]) {
    const cut = new Uint8Array(length);
    assert(!verifier.verify({ publicKey, message, signature: cut }));
  }
});

Deno.test("verify() refuses a signature with its scalar written another way", () => {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const verifier = new SignatureVerifier();
  const { publicKey, sign } = makeSigner(1);
  const signature = sign(MESSAGE);
  const scalar = littleEndian(signature.subarray(32)) + order;
  const other = Uint8Array.from(signature);
  other.set(bytesOf(scalar), 32);
  assert(!verifier.verify({ publicKey, message: MESSAGE, signature: other }));
});

Deno.test("verify() refuses keys under which anybody can sign", () => {
  const neutral = bytesOf(1n);
  const forged = new Uint8Array([...neutral, ...bytesOf(0n)]);
  const hex = Buffer.from(neutral).toString("hex");
  const x = Buffer.from(neutral).toString("base64url");
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x },
    format: "jwk",
  });
  // The runtime alone lets it pass; that is what the check is there for.
  assertEquals(verify(null, MESSAGE, key, forged), true);
  const verifier = new SignatureVerifier();
  assert(
    !verifier.verify({ publicKey: hex, message: MESSAGE, signature: forged }),
  );
});

Deno.test("verify() still works when it has forgotten keys", () => {
  const verifier = new SignatureVerifier({ maxKeys: 4 });
  for (let round = 0; round < 3; round++) {
    for (let seed = 1; seed <= 10; seed++) {
      const { publicKey, sign } = makeSigner(seed);
      const signature = sign(MESSAGE);
      assert(verifier.verify({ publicKey, message: MESSAGE, signature }));
    }
  }
});

function littleEndian(bytes: Uint8Array): bigint {
  return [...bytes].reverse().reduce(
    (sum, byte) => (sum << 8n) | BigInt(byte),
    0n,
  );
}

function bytesOf(value: bigint): Uint8Array {
  return Uint8Array.from(
    { length: 32 },
    (_, index) => Number((value >> BigInt(8 * index)) & 255n),
  );
}
