/**
 * What is known of something said beside its words, by place, and what it gets for that.
 *
 * @module
 */

/** What is known of something said. */
export interface Turn {
  /** A number for who speaks, from 1 to 65535; 0 for one that has none. */
  readonly speaker: number;
  /** Whether it asks something. */
  readonly isQuestion: boolean;
  /** Whether it says when something is. */
  readonly tellsTime: boolean;
  /** Any measure of how much is said. */
  readonly length: number;
}

/** What something said gets beside the score of its words. */
export interface TurnWeights {
  /** Who is to speak; 0 for anyone. */
  readonly speaker: number;
  /** For speaking then. */
  readonly speakerWeight: number;
  /** For telling a time. */
  readonly timeWeight: number;
  /** For asking something. */
  readonly questionWeight: number;
  /** For each unit of length above the usual. */
  readonly lengthWeight: number;
  /** The share of what the question said right before it scores by its own words. */
  readonly answerWeight: number;
}

/** What something said gets, by what it gets it for. */
export interface TurnParts {
  /** For who speaks. */
  readonly speaker: number;
  /** For telling a time. */
  readonly time: number;
  /** For how much is said. */
  readonly length: number;
  /** For asking something. */
  readonly question: number;
  /** For the question before it. */
  readonly answer: number;
}

/** What a {@linkcode TurnTable} knows, by place. */
export interface TurnColumns {
  /** Whether something is said or asked, or tells a time. */
  readonly flags: Uint8Array;
  /** Who speaks. */
  readonly speakers: Uint16Array;
  /** How much is said. */
  readonly lengths: Float32Array;
}

const SPEECH = 1;
const QUESTION = 2;
const TIME = 4;

/** Turns by place; a memory that is no speech has none. */
export class TurnTable {
  #flags: Uint8Array;
  #speakers: Uint16Array;
  #lengths: Float32Array;
  #lengthSum = 0;
  #count = 0;

  /** A table with room for so many places. */
  constructor(room: number) {
    this.#flags = new Uint8Array(room);
    this.#speakers = new Uint16Array(room);
    this.#lengths = new Float32Array(room);
  }

  /** Notes what is said at a place that has nothing yet. */
  put(place: number, turn: Turn | undefined): void {
    if (turn === undefined) return;
    this.#flags[place] = SPEECH | (turn.isQuestion ? QUESTION : 0) |
      (turn.tellsTime ? TIME : 0);
    this.#speakers[place] = turn.speaker;
    this.#lengths[place] = turn.length;
    this.#count++;
    this.#lengthSum += this.#lengths[place] ?? 0;
  }

  /** What is known of the first places, as views of what is here. */
  columns(count: number): TurnColumns {
    return {
      flags: this.#flags.subarray(0, count),
      speakers: this.#speakers.subarray(0, count),
      lengths: this.#lengths.subarray(0, count),
    };
  }

  /** Takes what another has given, in place of what is here, and the columns with it. */
  adopt({ flags, speakers, lengths }: TurnColumns): void {
    this.#flags = flags;
    this.#speakers = speakers;
    this.#lengths = lengths;
    this.#count = 0;
    this.#lengthSum = 0;
    for (let place = 0; place < flags.length; place++) {
      if (flags[place] === 0) continue;
      this.#count++;
      this.#lengthSum += lengths[place]!;
    }
  }

  /** Forgets what is said at a place. */
  remove(place: number): void {
    if (!this.isSpeech(place)) return;
    this.#count--;
    this.#lengthSum -= this.#lengths[place] ?? 0;
    this.#flags[place] = 0;
  }

  /** Whether something is said at a place. */
  isSpeech(place: number): boolean {
    return (this.#flags[place] ?? 0) !== 0;
  }

  /** Whether something is asked at a place. */
  asks(place: number): boolean {
    return ((this.#flags[place] ?? 0) & QUESTION) !== 0;
  }

  /**
   * What a place gets in all.
   *
   * @param asked What the memory right before it scores as a question.
   */
  sumOf(place: number, weights: TurnWeights, asked: number): number {
    const flags = this.#flags[place] ?? 0;
    if (flags === 0) return 0;
    let sum = weights.lengthWeight *
      ((this.#lengths[place] ?? 0) - this.#usualLength);
    if (this.#isBy(place, weights)) sum += weights.speakerWeight;
    if ((flags & TIME) !== 0) sum += weights.timeWeight;
    if ((flags & QUESTION) !== 0) sum += weights.questionWeight;
    return sum + weights.answerWeight * asked;
  }

  /** The same by its parts; undefined where nothing is said. */
  partsOf(
    place: number,
    weights: TurnWeights,
    asked: number,
  ): TurnParts | undefined {
    const flags = this.#flags[place] ?? 0;
    if (flags === 0) return undefined;
    const length = (this.#lengths[place] ?? 0) - this.#usualLength;
    return {
      speaker: this.#isBy(place, weights) ? weights.speakerWeight : 0,
      time: (flags & TIME) !== 0 ? weights.timeWeight : 0,
      length: weights.lengthWeight * length,
      question: (flags & QUESTION) !== 0 ? weights.questionWeight : 0,
      answer: weights.answerWeight * asked,
    };
  }

  /**
   * Gives the places in `order` the numbers from 0 on, and makes room for so many;
   * what is at others goes.
   */
  renumber(order: readonly number[], room: number): void {
    const from = { flags: this.#flags, speakers: this.#speakers };
    const lengths = this.#lengths;
    this.#flags = new Uint8Array(room);
    this.#speakers = new Uint16Array(room);
    this.#lengths = new Float32Array(room);
    this.#lengthSum = 0;
    this.#count = 0;
    order.forEach((old, place) => {
      this.#flags[place] = from.flags[old] ?? 0;
      if (!this.isSpeech(place)) return;
      this.#speakers[place] = from.speakers[old] ?? 0;
      this.#lengths[place] = lengths[old] ?? 0;
      this.#lengthSum += this.#lengths[place] ?? 0;
      this.#count++;
    });
  }

  /** Makes room for more places. */
  grow(room: number): void {
    const [flags, speakers] = [this.#flags, this.#speakers];
    const lengths = this.#lengths;
    this.#flags = new Uint8Array(room);
    this.#speakers = new Uint16Array(room);
    this.#lengths = new Float32Array(room);
    this.#flags.set(flags);
    this.#speakers.set(speakers);
    this.#lengths.set(lengths);
  }

  #isBy(place: number, { speaker }: TurnWeights): boolean {
    return speaker !== 0 && this.#speakers[place] === speaker;
  }

  get #usualLength(): number {
    return this.#lengthSum / Math.max(1, this.#count);
  }
}
