/**
 * The raw query of a URL, taken apart.
 *
 * @module
 */

/** One parameter as it came. */
export interface RawParameter {
  /** The name, decoded; as it was written when it could not be. */
  readonly name: string;
  /** The value, decoded; absent when its percent-encoding is broken. */
  readonly value: string | undefined;
}

/** Most parameters of a query; more are a mistake or worse. */
export const MAX_PARAMETERS = 100;

/**
 * Splits a query, without its question mark, as forms are encoded: `&` between
 * parameters, `+` for a space. Nothing between two `&` is no parameter.
 *
 * @returns `undefined` when there are more than {@linkcode MAX_PARAMETERS}.
 */
export function splitQuery(raw: string): readonly RawParameter[] | undefined {
  if (raw === "") return [];
  const parameters: RawParameter[] = [];
  let start = 0;
  while (start <= raw.length) {
    const end = raw.indexOf("&", start);
    const piece = raw.slice(start, end === -1 ? raw.length : end);
    if (piece !== "") {
      if (parameters.length === MAX_PARAMETERS) return undefined;
      parameters.push(readPiece(piece));
    }
    if (end === -1) break;
    start = end + 1;
  }
  return parameters;
}

function readPiece(piece: string): RawParameter {
  const equals = piece.indexOf("=");
  const name = equals === -1 ? piece : piece.slice(0, equals);
  const decodedName = decode(name);
  return {
    name: decodedName ?? name,
    value: decodedName === undefined
      ? undefined
      : equals === -1
      ? ""
      : decode(piece.slice(equals + 1)),
  };
}

function decode(text: string): string | undefined {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // A broken escape is the client's fault; the caller reports it.
    return undefined;
  }
}
