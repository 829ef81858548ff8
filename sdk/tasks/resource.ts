/**
 * The calls that records of every kind have: they are created, listed, shown,
 * changed and removed, and something is done to them.
 *
 * @module
 */

import type { Page, PagedList } from "./pages.ts";
import type {
  CallOptions,
  ChangeOptions,
  MakeOptions,
  ServiceCall,
  ServiceCalls,
} from "./service_calls.ts";

/** The records of one kind, of which `Records` is a page. */
export class Resource<Item, Records extends Page<unknown>> {
  readonly #calls: ServiceCalls;
  readonly #name: string;
  readonly #path: string;

  /** Names a record, such as `alert`; its path is the plural. */
  constructor(calls: ServiceCalls, name: string) {
    this.#calls = calls;
    this.#name = name;
    this.#path = `${name}s`;
  }

  /** Creates a record. */
  async create<Made = Item>(
    body: unknown,
    options: MakeOptions,
  ): Promise<Made> {
    const call = { path: [this.#path], body };
    return await this.#calls.make(`create the ${this.#name}`, call, options);
  }

  /** Lists all records. */
  list(
    { signal, limit }: CallOptions & { readonly limit?: number | undefined },
  ): PagedList<Records["data"][number], Records> {
    const call = { path: [this.#path], query: { limit }, signal };
    return this.#calls.list(`list ${this.#path}`, call);
  }

  /** Returns one record. */
  async get<Of = Item>(id: string, { signal }: CallOptions): Promise<Of> {
    const path = [this.#path, id];
    return await this.#calls.read(`show the ${this.#name}`, { path, signal });
  }

  /** Changes a record. */
  async change(
    id: string,
    { verb = "change", ...call }:
      & Pick<ServiceCall, "method" | "body" | "extraMs">
      & {
        /**
         * The action that errors name.
         *
         * @default {"change"}
         */
        readonly verb?: string;
      },
    options: ChangeOptions,
  ): Promise<Item> {
    return await this.#calls.call({
      ...call,
      action: `${verb} the ${this.#name}`,
      path: [this.#path, id],
      headers: ifMatch(options),
      signal: options.signal,
    });
  }

  /** Removes a record. */
  async remove(
    id: string,
    { query, signal, ...options }: ChangeOptions & Pick<ServiceCall, "query">,
  ): Promise<void> {
    await this.#calls.call({
      action: `remove the ${this.#name}`,
      method: "DELETE",
      path: [this.#path, id],
      query,
      headers: ifMatch(options),
      signal,
    });
  }

  /** Does what `verb`, the last part of the path, says. */
  async act<Answer = Item>(
    id: string,
    { verb, action = `${verb} the ${this.#name}`, body, extraMs }:
      & Pick<ServiceCall, "body" | "extraMs">
      & {
        /** What is done. */
        readonly verb: string;
        /**
         * The action that errors name.
         *
         * @default the verb, and the kind of record
         */
        readonly action?: string;
      },
    options: MakeOptions & ChangeOptions,
  ): Promise<Answer> {
    const path = [this.#path, id, verb];
    const call = { path, body, headers: ifMatch(options), extraMs };
    return await this.#calls.make(action, call, options);
  }
}

/** The header that makes a change depend on the version. */
function ifMatch({ ifVersion }: ChangeOptions): Record<string, string> {
  return ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
}
