/**
 * Sends what the released Python client of MemWal (`memwal` 0.1) sends: the
 * same steps before the first call, the same header fields, and bodies in the
 * form in which Python writes JSON. That client itself needs packages of PyPI.
 *
 * @module
 */

import { createHash, randomBytes } from "node:crypto";
import type { RelayerAccount } from "../support/relayer_process.ts";
import { type HandKey, signByHand } from "./hand_signer.ts";
import { getMember, readText, sendWire } from "./wire_client.ts";

/** The newest relayer contract that the client knows, as its own constant. */
const BASELINE = "0.1.0";
/** Header fields that its HTTP library adds to each request. */
const LIBRARY_FIELDS = {
  accept: "*/*",
  "accept-encoding": "gzip, deflate",
  "user-agent": "python-httpx/0.28.1",
};
const SESSION_MINUTES = 5;

/** The client; it keeps what it was told before its first call. */
export class PythonClient {
  readonly #url: string;
  readonly #signer: HandKey;
  #session: string | undefined;

  /** A client of an account; nothing is sent yet. */
  constructor(url: string, account: RelayerAccount & HandKey) {
    this.#url = url;
    this.#signer = account;
  }

  /**
   * Sends a call and returns the body of the answer.
   *
   * @param options.accepted The statuses that the client takes, 200 unless
   * given.
   * @param options.hasSession Whether the call carries a session for key
   * servers.
   * @throws {Error} When the client would raise an error.
   */
  async call(
    method: "GET" | "POST",
    target: string,
    { body = {}, accepted = [200], hasSession = true }: {
      readonly body?: Readonly<Record<string, unknown>>;
      readonly accepted?: readonly number[];
      readonly hasSession?: boolean;
    } = {},
  ): Promise<unknown> {
    await this.#checkVersion();
    const text = method === "GET" ? "" : toPythonJson(body);
    const request = { method, target, body: text };
    const answer = await sendWire(this.#url, {
      ...request,
      headers: {
        ...LIBRARY_FIELDS,
        ...signByHand(request, this.#signer),
        "content-type": "application/json",
        ...hasSession ? { "x-seal-session": await this.#getSession() } : {},
      },
    });
    if (accepted.includes(answer.status)) return answer.json;
    throw new Error(
      `Cannot go on: ${method} ${target} answered ${answer.status} ` +
        `${answer.headers.get("x-auth-error") ?? ""} ${answer.text}`,
    );
  }

  /** Sends a call as the first releases did: four signed fields, and the key. */
  async callAsAtFirst(target: string, body: unknown): Promise<number> {
    const text = toPythonJson(body);
    const request = { method: "POST", target, body: text };
    const { status } = await sendWire(this.#url, {
      ...request,
      headers: {
        ...LIBRARY_FIELDS,
        ...signByHand(request, this.#signer, { isLegacy: true }),
        "content-type": "application/json",
        "x-delegate-key": this.#signer.key,
        "x-account-id": this.#signer.accountId,
      },
    });
    return status;
  }

  /** The client refuses a relayer whose contract it does not know. */
  async #checkVersion(): Promise<void> {
    const contract = await this.#read("/version");
    const least = readText(getMember(contract, "minSupportedSdk"), "python");
    const isKnown = /^1\.\d+\.\d+/.test(readText(contract, "apiVersion")) &&
      readText(contract, "relayerVersion") !== "" &&
      least.localeCompare(BASELINE, "en", { numeric: true }) <= 0;
    if (!isKnown) throw new Error(`Cannot go on: ${JSON.stringify(contract)}`);
  }

  /** The session that it makes for key servers, from what `/config` says. */
  async #getSession(): Promise<string> {
    if (this.#session !== undefined) return this.#session;
    const config = await this.#read("/config");
    const packageId = readText(config, "packageId");
    // On a public network it asks that network's own GraphQL server instead.
    if (readText(config, "network") !== "localnet") {
      throw new Error(`Cannot go on: ${JSON.stringify(config)}`);
    }
    const shown = { showBcs: false, showContent: false, showType: false };
    const answer = await fetch(readText(config, "suiRpcUrl"), {
      method: "POST",
      headers: { ...LIBRARY_FIELDS, "content-type": "application/json" },
      body: toPythonJson({
        ...{ jsonrpc: "2.0", id: 1, method: "sui_getObject" },
        params: [packageId, shown],
      }),
    });
    const data = getMember(getMember(await answer.json(), "result"), "data");
    if (String(getMember(data, "version")) !== "1") {
      throw new Error(`Cannot go on: the package is ${JSON.stringify(data)}`);
    }
    // The relayer reads no session: its own vault opens the memories.
    const session = {
      ...{ address: `0x${randomBytes(32).toString("hex")}`, packageId },
      ...{ mvrName: null, creationTimeMs: Date.now() },
      ttlMin: SESSION_MINUTES,
      personalMessageSignature: randomBytes(97).toString("base64"),
      sessionKey: `suiprivkey1${createHash("sha256").digest("hex")}`,
    };
    return this.#session = btoa(toPythonJson(session));
  }

  async #read(target: string): Promise<unknown> {
    const answer = await sendWire(this.#url, {
      ...{ method: "GET", target, headers: LIBRARY_FIELDS },
    });
    if (answer.status === 200) return answer.json;
    throw new Error(`Cannot go on: ${target} answered ${answer.status}`);
  }
}

/** JSON as Python writes it without blanks: in ASCII, the rest escaped. */
export function toPythonJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
