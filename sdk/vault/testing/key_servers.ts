/**
 * Key servers in the process of a test. They make the same checks as real key
 * servers, except that the test decides who gets which key, and can make them
 * fail.
 *
 * @module
 */

import { decodeBase64, encodeBase64 } from "../../memory/encodings.ts";
import { elgamalEncrypt, isRequestKeyPair } from "../elgamal.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
  deriveUserKey,
  newMasterSecret,
  provePossession,
  toFullId,
} from "../identity_encryption.ts";
import type { KeyServer } from "../key_server_client.ts";
import {
  checkCertificate,
  isSignedRequest,
  type SessionCertificate,
} from "../session_key.ts";
import { readApproval } from "./approval_reader.ts";

/** The request for a key that a test decides about. */
export interface KeyQuestion {
  /** The address that asks. */
  readonly user: string;
  /** The identity without the package in front. */
  readonly id: Uint8Array;
  /** Ids of the objects that the approving function gets. */
  readonly objectIds: readonly string[];
}

/** Options of {@linkcode TestKeyServers}. */
export interface TestKeyServersOptions {
  /** The package whose keys they give. */
  readonly packageId: string;
  /** How many there are. */
  readonly count: number;
  /**
   * Decides who may have a key.
   *
   * @default everyone
   */
  readonly mayHave?: (question: KeyQuestion) => boolean;
  /**
   * The time.
   *
   * @default {Date.now}
   */
  readonly nowMs?: () => number;
}

/** The way in which a key server of a test fails. */
export type KeyServerFault =
  /** The key server cannot be reached. */
  | "down"
  /** The key server never answers. */
  | "silent"
  /** The key server answers with the status 500. */
  | "failing"
  /** A proxy answers in the key server's place. */
  | "proxied"
  /** The key server gives keys that were made with another master secret. */
  | "false keys"
  /** The key server gives the keys of the request before. */
  | "replay"
  /** The key server does not report its version. */
  | "no version";

interface FetchKeyBody {
  readonly ptb: string;
  readonly enc_key: string;
  readonly enc_verification_key: string;
  readonly request_signature: string;
  readonly certificate: SessionCertificate;
}

/** Key servers of a test. */
export class TestKeyServers {
  /** The key servers as a client knows them. */
  readonly keyServers: readonly KeyServer[];
  /** The master secrets of the key servers, in order. */
  readonly secrets: readonly Uint8Array[];
  /** The number of requests for keys that each key server got. */
  readonly requests: number[];
  readonly #options: TestKeyServersOptions;
  readonly #faults = new Map<number, KeyServerFault>();
  readonly #answers = new Map<number, string>();

  /** Creates key servers, each with a secret of its own. */
  constructor(options: TestKeyServersOptions) {
    this.#options = options;
    this.secrets = Array.from({ length: options.count }, newMasterSecret);
    this.requests = this.secrets.map(() => 0);
    this.keyServers = this.secrets.map((secret, at) => {
      const publicKey = derivePublicKey(secret);
      const objectId = deriveKeyServerId(publicKey);
      return { objectId, publicKey, url: `http://key-server-${at}.test` };
    });
  }

  /** Makes a key server fail, or makes it work again. */
  setFault(at: number, fault: KeyServerFault | undefined): void {
    if (fault === undefined) this.#faults.delete(at);
    else this.#faults.set(at, fault);
  }

  /** Answers requests to the key servers. */
  readonly fetch = async (
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const at = this.keyServers.findIndex((server) => server.url === url.origin);
    const [server, secret] = [this.keyServers[at], this.secrets[at]];
    if (server === undefined || secret === undefined) {
      throw new TypeError("no such host");
    }
    const fault = this.#faults.get(at);
    switch (fault) {
      case "down":
        throw new TypeError("connection refused");
      case "silent":
        return await unanswered(init?.signal);
      case "failing":
        return Response.json({ error: "Failure" }, { status: 500 });
      case "proxied":
        return new Response("<html>default backend - 404", { status: 404 });
    }
    const headers = new Headers({ "x-keyserver-version": "0.5.0" });
    if (fault === "no version") headers.delete("x-keyserver-version");
    if (url.pathname === "/v1/service") {
      const pop = provePossession(secret, server.objectId);
      return Response.json({
        service_id: server.objectId,
        pop: encodeBase64(pop),
      }, { headers });
    }
    this.requests[at] = (this.requests[at] ?? 0) + 1;
    const before = this.#answers.get(at);
    const body: FetchKeyBody = JSON.parse(String(init?.body));
    const used = fault === "false keys" ? newMasterSecret() : secret;
    const answer = await this.#answer(body, used);
    if (typeof answer !== "string") {
      return Response.json(answer, { status: 403, headers });
    }
    this.#answers.set(at, answer);
    headers.set("content-type", "application/json");
    const isReplayed = fault === "replay" && before !== undefined;
    return new Response(isReplayed ? before : answer, { headers });
  };

  async #answer(
    body: FetchKeyBody,
    secret: Uint8Array,
  ): Promise<string | { readonly error: string; readonly message: string }> {
    const { packageId, mayHave = () => true, nowMs = Date.now } = this.#options;
    const { certificate } = body;
    const ptb = decodeBytes(body.ptb);
    const encKey = decodeBytes(body.enc_key);
    const encVerificationKey = decodeBytes(body.enc_verification_key);
    const check = await checkCertificate(certificate, {
      packageName: packageId,
      nowMs: nowMs(),
    });
    if (check.kind !== "ok") return refused("InvalidCertificate", check.reason);
    const { address: user, sessionPublicKey } = check;
    const request = { ptb, encKey, encVerificationKey };
    const signature = body.request_signature;
    if (!await isSignedRequest(request, { signature, sessionPublicKey })) {
      return refused("InvalidSessionSignature", "");
    }
    if (!isRequestKeyPair(encKey, encVerificationKey)) {
      return refused("InvalidParameter", "the request's keys do not match");
    }
    const approval = readApproval(ptb);
    if (approval.kind === "invalid") {
      return refused("InvalidPTB", approval.reason);
    }
    const { calls } = approval;
    const isAllowed = calls.every((call) =>
      call.packageId === packageId && mayHave({ ...call, user })
    );
    if (!isAllowed) return refused("NoAccess", "not approved");
    return JSON.stringify({
      decryption_keys: calls.map(({ id }) => {
        const fullId = toFullId(packageId, id);
        const pair = elgamalEncrypt(deriveUserKey(secret, fullId), encKey);
        return { id: [...fullId], encrypted_key: pair?.map(encodeBase64) };
      }),
    });
  }
}

function refused(error: string, message: string) {
  return { error, message };
}

function decodeBytes(text: string): Uint8Array {
  const bytes = decodeBase64(text, { maxBytes: 65_536 });
  if (bytes === undefined) throw new TypeError("no Base64");
  return bytes;
}

function unanswered(signal: AbortSignal | null | undefined): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal?.aborted) reject(signal.reason);
  signal?.addEventListener("abort", () => reject(signal.reason));
  return promise;
}
