/**
 * A small identity provider on loopback for tests: it has a key set, signs
 * tokens, has a management API with users, and fails on demand.
 *
 * @module
 */

import type { JwtAlgorithm } from "../jwks.ts";

/** How the server misbehaves. */
export type ProviderFault =
  /** The server answers with this status. */
  | { readonly kind: "status"; readonly status: number }
  /** The server answers with this text. */
  | { readonly kind: "text"; readonly text: string }
  /** The server accepts the request and never answers. */
  | { readonly kind: "silence" };

/** Options of {@linkcode IdentityProviderServer.mint}. */
export interface MintOptions {
  /**
   * How the token is signed.
   *
   * @default {"RS256"}
   */
  readonly algorithm?: JwtAlgorithm;
  /**
   * Members that replace those of the header, or remove them if undefined.
   *
   * @default {{}}
   */
  readonly header?: Readonly<Record<string, unknown>>;
}

/** A request to the management API. */
export interface ManagementCall {
  /** The method. */
  readonly method: string;
  /** The path. */
  readonly path: string;
  /** The parsed body; undefined without one. */
  readonly body: unknown;
}

interface ProviderKey {
  readonly id: string;
  readonly pair: CryptoKeyPair;
  readonly jwk: Readonly<Record<string, unknown>>;
}

type KeyParams = RsaHashedKeyGenParams | EcKeyGenParams | Algorithm;

const RSA = {
  modulusLength: 2_048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
};

const KEY_PARAMS: Readonly<Record<JwtAlgorithm, KeyParams>> = {
  RS256: { name: "RSASSA-PKCS1-v1_5", ...RSA },
  PS256: { name: "RSA-PSS", ...RSA },
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  EdDSA: { name: "Ed25519" },
};

const SIGN_PARAMS: Readonly<
  Record<JwtAlgorithm, Algorithm | RsaPssParams | EcdsaParams>
> = {
  RS256: { name: "RSASSA-PKCS1-v1_5" },
  PS256: { name: "RSA-PSS", saltLength: 32 },
  ES256: { name: "ECDSA", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
};

/** A running identity provider. */
export class IdentityProviderServer {
  /** The access token that the management API accepts. */
  accessToken = "management-token-1";
  /**
   * The fault for requests for the key set; undefined when they are answered.
   */
  keySetFault: ProviderFault | undefined;
  /**
   * The fault for requests to the management API; undefined when they are
   * answered.
   */
  managementFault: ProviderFault | undefined;
  /** How often the key set was requested. */
  keySetCalls = 0;
  /** The requests to the management API so far, refused ones too. */
  readonly managementCalls: ManagementCall[] = [];
  /** The users of the management API, by their id. */
  readonly users = new Map<string, Record<string, unknown>>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #stopping = new AbortController();
  readonly #algorithms: readonly JwtAlgorithm[];
  #keys: readonly ProviderKey[] = [];
  #keyNumber = 0;
  #userNumber = 0;

  /** Use {@linkcode IdentityProviderServer.start}. */
  private constructor(algorithms: readonly JwtAlgorithm[]) {
    this.#algorithms = algorithms;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  /**
   * Starts a provider with one key for each algorithm. Making RSA keys takes a
   * while, so a test names those it needs.
   */
  static async start(
    algorithms: readonly JwtAlgorithm[] = ["ES256"],
  ): Promise<IdentityProviderServer> {
    const server = new IdentityProviderServer(algorithms);
    await server.rotate();
    return server;
  }

  /** The provider's URL, which is also the issuer of its tokens. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** The URL of the provider's key set. */
  get keySetUrl(): string {
    return `${this.url}/.well-known/jwks.json`;
  }

  /** Replaces all keys by new ones with new ids. */
  async rotate(): Promise<void> {
    const number = ++this.#keyNumber;
    this.#keys = await Promise.all(
      this.#algorithms.map((name) => newKey(name, `${name}-${number}`)),
    );
  }

  /** The public key of an algorithm as the key set shows it. */
  publicJwk(algorithm: JwtAlgorithm): Readonly<Record<string, unknown>> {
    return this.#getKey(algorithm).jwk;
  }

  /** Signs a token with exactly these claims; see {@linkcode claimsAt}. */
  async mint(
    claims: Readonly<Record<string, unknown>>,
    options: MintOptions = {},
  ): Promise<string> {
    const algorithm = options.algorithm ?? this.#algorithms[0] ?? "RS256";
    const key = this.#getKey(algorithm);
    const header = { alg: algorithm, typ: "JWT", kid: key.id };
    const signed = [{ ...header, ...options.header }, claims]
      .map((part) => base64url(new TextEncoder().encode(JSON.stringify(part))))
      .join(".");
    return `${signed}.${await this.sign(algorithm, signed)}`;
  }

  /** Signs any text with the key of an algorithm; the result is base64url. */
  async sign(algorithm: JwtAlgorithm, text: string): Promise<string> {
    const signature = await crypto.subtle.sign(
      SIGN_PARAMS[algorithm],
      this.#getKey(algorithm).pair.privateKey,
      new TextEncoder().encode(text),
    );
    return base64url(new Uint8Array(signature));
  }

  /** Claims of a user for an audience, valid from this time for an hour. */
  claimsAt(
    nowMs: number,
    audience: string,
  ): Record<string, unknown> {
    const now = Math.floor(nowMs / 1_000);
    return {
      iss: this.url,
      aud: audience,
      sub: "auth0|ada",
      email: "ada@example.com",
      email_verified: true,
      name: "Ada",
      iat: now,
      exp: now + 3_600,
    };
  }

  /** Stops the server and aborts requests under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#server.shutdown();
  }

  #getKey(algorithm: JwtAlgorithm): ProviderKey {
    const key = this.#keys.find(({ jwk }) => jwk.alg === algorithm);
    if (key !== undefined) return key;
    throw new Error(`Cannot sign: there is no key for "${algorithm}"`);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/.well-known/jwks.json") {
      this.keySetCalls++;
      const keys = this.#keys.map(({ jwk }) => jwk);
      return await this.#fail(this.keySetFault) ?? Response.json({ keys });
    }
    if (!pathname.startsWith("/api/v2/")) return answer(404);
    const text = await request.text();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const { method } = request;
    this.managementCalls.push({ method, path: pathname, body });
    const failed = await this.#fail(this.managementFault);
    if (failed !== undefined) return failed;
    const isOurs = request.headers.get("authorization") ===
      `Bearer ${this.accessToken}`;
    if (!isOurs) return answer(401);
    return this.#manage({ method, path: pathname, body });
  }

  #manage({ method, path, body }: ManagementCall): Response {
    if (path === "/api/v2/" && method === "GET") return Response.json({});
    const members = typeof body === "object" ? { ...body } : {};
    if (path === "/api/v2/users" && method === "POST") {
      return this.#addUser(members);
    }
    const id = decodeURIComponent(path.slice("/api/v2/users/".length));
    const user = this.users.get(id);
    if (!path.startsWith("/api/v2/users/") || user === undefined) {
      return answer(404);
    }
    if (method === "DELETE") {
      this.users.delete(id);
      return answer(204);
    }
    if (method !== "PATCH") return answer(405);
    Object.assign(user, members);
    return Response.json(user);
  }

  #addUser(members: Record<string, unknown>): Response {
    const isTaken = this.users.values().some(({ email }) =>
      "email" in members && email === members.email
    );
    if (isTaken) return answer(409);
    const id = `auth0|${++this.#userNumber}`;
    const user = { ...members, user_id: id };
    this.users.set(id, user);
    return Response.json(user, { status: 201 });
  }

  async #fail(
    fault: ProviderFault | undefined,
  ): Promise<Response | undefined> {
    switch (fault?.kind) {
      case "status":
        return answer(fault.status);
      case "text":
        return new Response(fault.text);
      case "silence":
        await this.#stopped();
        return answer(503);
      case undefined:
        return undefined;
    }
  }

  #stopped(): Promise<void> {
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve());
    });
  }
}

async function newKey(
  algorithm: JwtAlgorithm,
  id: string,
): Promise<ProviderKey> {
  const made = await crypto.subtle.generateKey(
    KEY_PARAMS[algorithm],
    true,
    ["sign", "verify"],
  );
  if (!("publicKey" in made)) {
    throw new Error(`Cannot create key: "${algorithm}" has no public key`);
  }
  const exported = await crypto.subtle.exportKey("jwk", made.publicKey);
  const jwk = { ...exported, kid: id, alg: algorithm, use: "sig" };
  return { id, pair: made, jwk };
}

function answer(status: number): Response {
  return status < 400
    ? new Response(null, { status })
    : Response.json({ statusCode: status, error: "no" }, { status });
}

function base64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
