/**
 * A queue in which keys, such as tenants, take turns by what their items cost:
 * deficit round robin, for costs that are known when an item is taken or later.
 *
 * A key has a balance, which each round of the keys raises by a quantum and the
 * cost of its items lowers. While it is used up the key is passed over. So keys
 * that always have something waiting get the same to within a quantum and the
 * cost of an item. A key that comes new goes first, once, as it has asked for
 * little; a key that is alone is never held back.
 *
 * @module
 */

/** Options of {@linkcode FairQueue}. */
export interface FairQueueOptions {
  /** What a key is given in each round, in the unit of the costs. */
  readonly quantum: number;
  /**
   * Most that a key owes; what is above is forgiven.
   *
   * @default 1000 times the quantum
   */
  readonly maxDebt?: number;
}

/** How an item is added; see {@linkcode FairQueue.add}. */
export interface AddOptions {
  /**
   * Whether it goes ahead of items of its key that were added without this.
   *
   * @default {false}
   */
  readonly isAhead?: boolean;
}

/** An item that waits. */
export interface Waiting<Item> {
  /** The key that pays for it. */
  readonly key: string;
  /** What was added. */
  readonly item: Item;
}

/** Items that wait, by key. */
export class FairQueue<Item> {
  readonly #quantum: number;
  readonly #maxDebt: number;
  readonly #keys = new Map<string, Key<Item>>();
  /** Keys that came since it was their turn. */
  readonly #newKeys = new Chain<Key<Item>>();
  /** The other keys, that whose turn it is first. */
  readonly #ring = new Chain<Key<Item>>();
  #length = 0;

  /**
   * An empty queue.
   *
   * @throws {RangeError} when the quantum is not above 0
   */
  constructor({ quantum, maxDebt = 1_000 * quantum }: FairQueueOptions) {
    if (!(quantum > 0)) {
      throw new RangeError(`Cannot take turns: the quantum is ${quantum}`);
    }
    this.#quantum = quantum;
    this.#maxDebt = maxDebt;
  }

  /** How many items wait. */
  get length(): number {
    return this.#length;
  }

  /** How many keys are remembered: those that wait, and those that owe. */
  get keys(): number {
    return this.#keys.size;
  }

  /** How many items of a key wait, without those that were added ahead. */
  lengthOf(key: string): number {
    return this.#keys.get(key)?.items.length ?? 0;
  }

  /** Adds an item behind the others of its key. */
  add(key: string, item: Item, options: AddOptions = {}): Waiting<Item> {
    let owner = this.#keys.get(key);
    if (owner === undefined) {
      owner = this.#addKey(key);
      this.#newKeys.push(owner);
    }
    const chain = options.isAhead === true ? owner.ahead : owner.items;
    const place = new Place(item, { owner, chain });
    chain.push(place);
    this.#length++;
    return place;
  }

  /** Takes out an item wherever it stands; tells whether it was still there. */
  remove(waiting: Waiting<Item>): boolean {
    if (!(waiting instanceof Place) || waiting.isTaken) return false;
    this.#take(waiting);
    return true;
  }

  /** The item whose turn it is, if any waits; it stays where it is. */
  peek(): Waiting<Item> | undefined {
    return this.#next();
  }

  /** Takes the item whose turn it is, if any waits; its cost is to be charged. */
  shift(): Waiting<Item> | undefined {
    const place = this.#next();
    if (place !== undefined) this.#take(place);
    return place;
  }

  /** Takes a cost from the balance of a key. While nothing waits nothing is owed. */
  charge(key: string, cost: number): void {
    let owner = this.#keys.get(key);
    if (owner === undefined) {
      if (this.#length === 0) return;
      owner = this.#addKey(key);
      this.#ring.push(owner);
    }
    owner.balance = Math.max(-this.#maxDebt, owner.balance - cost);
  }

  /** Whether the balance of a key is used up. */
  owes(key: string): boolean {
    return (this.#keys.get(key)?.balance ?? 1) <= 0;
  }

  /**
   * Forgets what is owed, if nothing waits: there is enough for everybody, so it
   * is taken from none.
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
    place.chain.remove(place);
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
        const place = key.ahead.first ?? key.items.first;
        if (place !== undefined) return place;
      }
      keys.remove(key);
      if (key.balance > 0 && !isNew) {
        this.#keys.delete(key.name);
        continue;
      }
      // A key that was new and has nothing left waits for its round all the
      // same, or it would be new each time.
      if (key.balance <= 0) key.balance += this.#quantum;
      this.#ring.push(key);
    }
    return undefined;
  }
}

/** A link of a {@linkcode Chain}; in one chain at a time. */
class Link {
  previous: this | undefined;
  next: this | undefined;
}

class Place<Item> extends Link implements Waiting<Item> {
  readonly item: Item;
  readonly chain: Chain<Place<Item>>;
  isTaken = false;
  readonly #owner: Key<Item>;

  constructor(
    item: Item,
    { owner, chain }: {
      readonly owner: Key<Item>;
      readonly chain: Chain<Place<Item>>;
    },
  ) {
    super();
    this.item = item;
    this.chain = chain;
    this.#owner = owner;
  }

  get key(): string {
    return this.#owner.name;
  }
}

class Key<Item> extends Link {
  readonly name: string;
  balance: number;
  readonly ahead = new Chain<Place<Item>>();
  readonly items = new Chain<Place<Item>>();

  constructor(name: string, balance: number) {
    super();
    this.name = name;
    this.balance = balance;
  }
}

/** A list that anything can be taken out of in constant time. */
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
