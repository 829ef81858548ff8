/**
 * A queue in which keys, such as tenants, take turns by the cost of their
 * items: deficit round robin, for costs that are known when an item is taken or
 * later.
 *
 * A key has a balance: each round raises it by a quantum, and the cost of the
 * key's items lowers it. A key whose balance is used up is skipped. So keys
 * that always have items waiting get equal shares, to within a quantum and the
 * cost of an item. A new key goes first, once, as it has used little so far; a
 * key that is alone is never held back.
 *
 * @module
 */

/**
 * Who pays for an item: a key, or a member of a group. A group counts as one
 * key, within which its members take turns in the same way, so that unknown
 * clients, however many they are, get no more than one known client.
 */
export type FairKey = string | {
  /** The name of the group; no key has it as well. */
  readonly group: string;
  /** The member. */
  readonly member: string;
};

/** An item that waits. */
export interface Waiting<Item> {
  /** The key whose share of turns the item uses. */
  readonly key: FairKey;
  /** The item that waits. */
  readonly item: Item;
}

/** The largest debt of a key, in quanta. */
const MAX_DEBT = 1_000;

/** Items that wait, by key. */
export class FairQueue<Item> {
  readonly #quantum: number;
  readonly #keys = new Map<string, Key<Item>>();
  /** Keys that are new in this round. */
  readonly #newKeys = new Chain<Key<Item>>();
  /** The other keys, the next one first. */
  readonly #ring = new Chain<Key<Item>>();
  #length = 0;

  /**
   * An empty queue. A key gets `quantum` in each round, in the unit of the
   * costs; what it owes beyond a thousand times that is forgiven.
   *
   * @throws {RangeError} when the quantum is not above 0
   */
  constructor({ quantum }: { readonly quantum: number }) {
    if (!(quantum > 0)) {
      throw new RangeError(`Cannot take turns: the quantum is ${quantum}`);
    }
    this.#quantum = quantum;
  }

  /** How many items wait. */
  get length(): number {
    return this.#length;
  }

  /** How many keys are kept: those with waiting items or with a debt. */
  get keys(): number {
    return this.#keys.size;
  }

  /** How many items of a key wait, without those that were added ahead. */
  countWaiting(key: FairKey): number {
    const owner = this.#keys.get(toName(key));
    return typeof key === "string"
      ? owner?.items.length ?? 0
      : owner?.members?.countWaiting(key.member) ?? 0;
  }

  /**
   * Adds an item behind the others of its key, or ahead of those that were not
   * added ahead.
   */
  add(key: FairKey, item: Item, isAhead = false): Waiting<Item> {
    const name = toName(key);
    let owner = this.#keys.get(name);
    if (owner === undefined) {
      owner = this.#addKey(name);
      this.#newKeys.push(owner);
    }
    const place = new Place(key, { item, owner });
    if (typeof key !== "string") {
      owner.members ??= new FairQueue({ quantum: this.#quantum });
      place.among = owner.members.add(key.member, place, isAhead);
    } else {
      place.chain = isAhead ? owner.ahead : owner.items;
      place.chain.push(place);
    }
    this.#length++;
    return place;
  }

  /** Removes an item wherever it is; returns whether it was still there. */
  remove(waiting: Waiting<Item>): boolean {
    if (!(waiting instanceof Place) || waiting.isTaken) return false;
    this.#take(waiting);
    return true;
  }

  /** Returns the next item, if any waits, without taking it. */
  peek(): Waiting<Item> | undefined {
    return this.#next();
  }

  /**
   * Takes the next item, if any waits. The caller charges its cost later.
   */
  shift(): Waiting<Item> | undefined {
    const place = this.#next();
    if (place !== undefined) this.#take(place);
    return place;
  }

  /**
   * Subtracts a cost from the balance of a key. A key that is not kept is
   * charged only while items wait: otherwise there is enough for all.
   */
  charge(key: FairKey, cost: number): void {
    let owner = this.#keys.get(toName(key));
    if (owner === undefined) {
      if (this.#length === 0) return;
      owner = this.#addKey(toName(key));
      this.#ring.push(owner);
    }
    owner.balance = Math.max(-MAX_DEBT * this.#quantum, owner.balance - cost);
    if (typeof key !== "string") owner.members?.charge(key.member, cost);
  }

  /** Whether the balance of a key is used up. */
  owes(key: FairKey): boolean {
    const owner = this.#keys.get(toName(key));
    if (owner === undefined) return false;
    return owner.balance <= 0 ||
      typeof key !== "string" && owner.members?.owes(key.member) === true;
  }

  /** Whether nothing waits, or items of a key that is the only one. */
  isAlone(key: FairKey): boolean {
    return this.#length === 0 ||
      this.#keys.size === 1 && typeof key === "string" && this.#keys.has(key);
  }

  /**
   * Forgets what is owed, if nothing waits: there is enough for all, so no
   * other key loses anything.
   */
  forgetDebts(): void {
    if (this.#length > 0 || this.#keys.size === 0) return;
    this.#keys.clear();
    this.#newKeys.clear();
    this.#ring.clear();
  }

  #addKey(name: string): Key<Item> {
    const key = new Key<Item>(name, this.#quantum);
    this.#keys.set(name, key);
    return key;
  }

  #take(place: Place<Item>): void {
    const { owner, chain, among } = place;
    chain?.remove(place);
    if (among !== undefined) owner.members?.remove(among);
    place.isTaken = true;
    this.#length--;
  }

  #next(): Place<Item> | undefined {
    while (this.#length > 0) {
      const isNew = this.#newKeys.first !== undefined;
      const keys = isNew ? this.#newKeys : this.#ring;
      const key = keys.first;
      if (key === undefined) break;
      if (key.balance > 0) {
        const place = key.ahead.first ?? key.items.first ??
          key.members?.peek()?.item;
        if (place !== undefined) return place;
      }
      keys.remove(key);
      if (key.balance > 0 && !isNew) {
        this.#keys.delete(key.name);
        continue;
      }
      // A new key without further items stays in the ring for a round:
      // forgotten now, it would count as new again with its next item.
      if (key.balance <= 0) key.balance += this.#quantum;
      this.#ring.push(key);
    }
    return undefined;
  }
}

function toName(key: FairKey): string {
  return typeof key === "string" ? key : key.group;
}

/** A link of a {@linkcode Chain}; in one chain at a time. */
class Link {
  previous: this | undefined;
  next: this | undefined;
}

class Place<Item> extends Link implements Waiting<Item> {
  readonly key: FairKey;
  readonly item: Item;
  readonly owner: Key<Item>;
  /** Where it stands, unless it is among the members of a group. */
  chain: Chain<Place<Item>> | undefined;
  /** Its place among the members of a group. */
  among: Waiting<Place<Item>> | undefined;
  isTaken = false;

  constructor(
    key: FairKey,
    { item, owner }: { readonly item: Item; readonly owner: Key<Item> },
  ) {
    super();
    this.key = key;
    this.item = item;
    this.owner = owner;
  }
}

class Key<Item> extends Link {
  readonly name: string;
  balance: number;
  readonly ahead = new Chain<Place<Item>>();
  readonly items = new Chain<Place<Item>>();
  /** What waits of the members, if it is a group. */
  members: FairQueue<Place<Item>> | undefined;

  constructor(name: string, balance: number) {
    super();
    this.name = name;
    this.balance = balance;
  }
}

/** A linked list from which any item can be removed in constant time. */
class Chain<
  Item extends { previous?: Item | undefined; next?: Item | undefined },
> {
  first: Item | undefined;
  length = 0;
  #last: Item | undefined;

  push(item: Item): void {
    item.previous = this.#last;
    item.next = undefined;
    if (this.#last === undefined) this.first = item;
    else this.#last.next = item;
    this.#last = item;
    this.length++;
  }

  remove(item: Item): void {
    if (item.previous === undefined) this.first = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) this.#last = item.previous;
    else item.next.previous = item.previous;
    item.previous = undefined;
    item.next = undefined;
    this.length--;
  }

  clear(): void {
    this.first = undefined;
    this.#last = undefined;
    this.length = 0;
  }
}
