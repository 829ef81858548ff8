/**
 * Which of several servers keeps a key: rendezvous hashing (D. Thaler and
 * C. Ravishankar, 1998). Whoever has the same names chooses alike, in whatever
 * order they are listed; one name more of n takes about 1/n of the keys, and
 * no other key moves.
 *
 * @module
 */

/** Something with a name that keys can be given to. */
export interface Candidate {
  /** The name, which alone decides. */
  readonly name: string;
}

/** Chooses among candidates. */
export class Rendezvous<T extends Candidate> {
  readonly #candidates: readonly T[];
  readonly #hashes: readonly number[];

  /** Takes the candidates; their names must differ. */
  constructor(candidates: readonly T[]) {
    // The order decides between equal scores only, and must not be the list's.
    this.#candidates = [...candidates].sort((a, b) => a.name < b.name ? -1 : 1);
    this.#hashes = this.#candidates.map(({ name }) => hashText(name));
  }

  /** All candidates, by name. */
  get candidates(): readonly T[] {
    return this.#candidates;
  }

  /** The candidate for a key; `undefined` when there is none. */
  choose(key: string): T | undefined {
    const hashes = this.#hashes;
    if (hashes.length < 2) return this.#candidates[0];
    const keyHash = hashText(key);
    let best = 0;
    let bestScore = -1;
    for (let i = 0; i < hashes.length; i++) {
      const score = mix(keyHash ^ hashes[i]!);
      if (score > bestScore) {
        best = i;
        bestScore = score;
      }
    }
    return this.#candidates[best];
  }
}

/** FNV-1a with 32 bits, then mixed. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return mix(hash);
}

/** The last step of MurmurHash3 (A. Appleby): every bit moves every other. */
function mix(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
