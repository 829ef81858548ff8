/**
 * Creates request views for tests, without a codec.
 *
 * @module
 */

import {
  type DescriptorFields,
  RequestView,
} from "../../proto/request_view.ts";

/**
 * A descriptor with its entries as `[key, value]` pairs and its other fields.
 */
export interface DescriptorOfTest extends DescriptorFields {
  /** The keys and values. */
  readonly entries: readonly (readonly [string, string])[];
}

/** A request for a decision. */
export interface RequestOfTest {
  /** The domain of the rules. */
  readonly domain: string;
  /**
   * The descriptors; a plain list stands for a descriptor with these entries.
   */
  readonly descriptors: readonly (
    | DescriptorOfTest
    | readonly (readonly [string, string])[]
  )[];
  /** The `hits_addend` of the request. */
  readonly hitsAddend?: number;
}

/**
 * Returns a view of a request, whose texts are laid out one after the other.
 */
export function createView(request: RequestOfTest): RequestView {
  const encoder = new TextEncoder();
  const texts: Uint8Array[] = [];
  let length = 0;
  const place = (text: string): [number, number] => {
    const bytes = encoder.encode(text);
    texts.push(bytes);
    length += bytes.length;
    return [length - bytes.length, length];
  };
  const view = new RequestView();
  view.reset(new Uint8Array(0));
  view.setDomain(...place(request.domain));
  view.hitsAddend = request.hitsAddend ?? 0;
  for (const descriptor of request.descriptors) {
    const fields = isList(descriptor) ? { entries: descriptor } : descriptor;
    for (const [key, value] of fields.entries) {
      view.addEntry(...place(key), ...place(value));
    }
    view.endDescriptor(fields);
  }
  view.bytes = new Uint8Array(length);
  let at = 0;
  for (const text of texts) {
    view.bytes.set(text, at);
    at += text.length;
  }
  return view;
}

function isList(
  descriptor: RequestOfTest["descriptors"][number],
): descriptor is readonly (readonly [string, string])[] {
  return Array.isArray(descriptor);
}
