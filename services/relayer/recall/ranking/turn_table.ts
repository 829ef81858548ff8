/**
 * The turns of conversations by place: who speaks, whether something is asked
 * or a time told, and what a turn scores for that.
 *
 * @module
 */

import { detectSigns, type Signs } from "./turn_signs.ts";

/** Who speaks in a memory that begins with a label, and how much. */
export interface Turn {
  /** The number of the speaker, 1 to 65535; 0 for a speaker without number. */
  readonly speaker: number;
  /** Any measure of how much is said. */
  readonly length: number;
}

/** What turns score beside their words. */
export interface TurnWeights {
  /**
   * The numbers of the speakers that the question names; empty where they do
   * not count.
   */
  readonly speakers: readonly number[];
  /** Added when one of those speakers speaks. */
  readonly speakerWeight: number;
  /** Added when the turn tells a time. */
  readonly timeWeight: number;
  /** Added when the turn has a number. */
  readonly numberWeight: number;
  /** Added when the turn tells a place. */
  readonly placeWeight: number;
  /** Added when the turn asks something. */
  readonly questionWeight: number;
  /** Added for each unit of length above the mean. */
  readonly lengthWeight: number;
  /**
   * Share that is added of what a question right before the turn scores by its
   * own words.
   */
  readonly answerWeight: number;
}

/** What a turn scores beside its words, part by part. */
export interface TurnParts {
  /** For who speaks. */
  readonly speaker: number;
  /** For telling a time. */
  readonly time: number;
  /** For having a number. */
  readonly number: number;
  /** For telling a place. */
  readonly place: number;
  /** For how much is said. */
  readonly length: number;
  /** For asking something. */
  readonly question: number;
  /** For the question before it. */
  readonly answer: number;
}

/** The columns of a {@linkcode TurnTable}, by place. */
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
const TALK = 8;
const CHANGE = 16;
const NUMBER = 32;
const PLACE = 64;
const OF_SELF = 128;
const ASKING = SPEECH | QUESTION;
const NO_SIGNS = detectSigns("");

/** Whether flags of a place say that a turn is said to a listener. */
export function areOfTalk(flags: number): boolean {
  return (flags & TALK) !== 0;
}

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

  /**
   * Notes the signs of a place that has none yet, and who speaks there, if it
   * is speech.
   */
  put(place: number, turn: Turn | undefined, signs: Signs = NO_SIGNS): void {
    this.#flags[place] = (signs.isQuestion ? QUESTION : 0) |
      (signs.tellsTime ? TIME : 0) | (signs.isTalk ? TALK : 0) |
      (signs.tellsNumber ? NUMBER : 0) | (signs.tellsPlace ? PLACE : 0) |
      (signs.tellsChange ? CHANGE : 0) | (signs.isOfSelf ? OF_SELF : 0);
    if (turn === undefined) return;
    this.#flags[place]! |= SPEECH;
    this.#speakers[place] = turn.speaker;
    this.#lengths[place] = turn.length;
    this.#add(place, 1);
  }

  #add(place: number, change: 1 | -1): void {
    this.#count += change;
    this.#lengthSum += change * (this.#lengths[place] ?? 0);
  }

  /** The turns of the first `count` places, as views of the table's memory. */
  columns(count: number): TurnColumns {
    return {
      flags: this.#flags.subarray(0, count),
      speakers: this.#speakers.subarray(0, count),
      lengths: this.#lengths.subarray(0, count),
    };
  }

  /**
   * Replaces all turns with columns of another table, which belong to this one
   * from then on.
   */
  adopt({ flags, speakers, lengths }: TurnColumns): void {
    this.#flags = flags;
    this.#speakers = speakers;
    this.#lengths = lengths;
    this.#count = 0;
    this.#lengthSum = 0;
    for (let place = 0; place < flags.length; place++) {
      if (this.isSpeech(place)) this.#add(place, 1);
    }
  }

  /** Forgets what is said at a place. */
  remove(place: number): void {
    if (this.isSpeech(place)) this.#add(place, -1);
    this.#flags[place] = 0;
  }

  /** Whether something is said at a place. */
  isSpeech(place: number): boolean {
    return ((this.#flags[place] ?? 0) & SPEECH) !== 0;
  }

  /** Whether what is said at a place is said to a listener. */
  talks(place: number): boolean {
    return areOfTalk(this.#flags[place] ?? 0);
  }

  /** Who speaks at a place; compared where something is said. */
  speakerAt(place: number): number {
    return this.#speakers[place]!;
  }

  /** The mean length of turns. */
  get usualLength(): number {
    return this.#lengthSum / Math.max(1, this.#count);
  }

  /** Whether a turn at a place asks something. */
  asks(place: number): boolean {
    return ((this.#flags[place] ?? 0) & ASKING) === ASKING;
  }

  /** The signs of a place. */
  signsAt(place: number): Signs {
    const flags = this.#flags[place] ?? 0;
    return {
      isQuestion: (flags & QUESTION) !== 0,
      isTalk: (flags & TALK) !== 0,
      tellsTime: (flags & TIME) !== 0,
      tellsNumber: (flags & NUMBER) !== 0,
      tellsPlace: (flags & PLACE) !== 0,
      isOfSelf: (flags & OF_SELF) !== 0,
      tellsChange: (flags & CHANGE) !== 0,
    };
  }

  /**
   * What the turn at a place scores in all; 0 where nothing is said.
   *
   * @param asked What the memory right before it scores as a question.
   */
  computeSum(place: number, weights: TurnWeights, asked: number): number {
    const flags = this.#flags[place] ?? 0;
    if ((flags & SPEECH) === 0) return 0;
    let sum = weights.lengthWeight *
      ((this.#lengths[place] ?? 0) - this.usualLength);
    if (this.#isBy(place, weights)) sum += weights.speakerWeight;
    if ((flags & TIME) !== 0) sum += weights.timeWeight;
    if ((flags & NUMBER) !== 0) sum += weights.numberWeight;
    if ((flags & PLACE) !== 0) sum += weights.placeWeight;
    if ((flags & QUESTION) !== 0) sum += weights.questionWeight;
    return sum + weights.answerWeight * asked;
  }

  /**
   * What the turn at a place scores, part by part; undefined where nothing is
   * said.
   */
  computeParts(
    place: number,
    weights: TurnWeights,
    asked: number,
  ): TurnParts | undefined {
    const flags = this.#flags[place] ?? 0;
    if ((flags & SPEECH) === 0) return undefined;
    const length = (this.#lengths[place] ?? 0) - this.usualLength;
    return {
      speaker: this.#isBy(place, weights) ? weights.speakerWeight : 0,
      time: (flags & TIME) !== 0 ? weights.timeWeight : 0,
      number: (flags & NUMBER) !== 0 ? weights.numberWeight : 0,
      place: (flags & PLACE) !== 0 ? weights.placeWeight : 0,
      length: weights.lengthWeight * length,
      question: (flags & QUESTION) !== 0 ? weights.questionWeight : 0,
      answer: weights.answerWeight * asked,
    };
  }

  /**
   * Numbers the places in `order` from 0 on, and removes the turns at all
   * others. The table has room for `room` places then.
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
      this.#add(place, 1);
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

  #isBy(place: number, { speakers }: TurnWeights): boolean {
    return speakers.includes(this.#speakers[place] ?? 0);
  }
}
