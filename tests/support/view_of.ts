/**
 * Request views for tests, without a codec.
 *
 * @module
 */

import {
  type DescriptorFields,
  RequestView,
} from "../../proto/request_view.ts";

/** A descriptor: entries as `[key, value]`, and what else it carries. */
export interface DescriptorOfTest extends DescriptorFields {
  /** Keys and values. */
  readonly entries: readonly (readonly [string, string])[];
}

/** A request. */
export interface RequestOfTest {
  /** The domain. */
  readonly domain: string;
  /** Descriptors; a bare list stands for its entries. */
  readonly descriptors: readonly (
    | DescriptorOfTest
    | readonly (readonly [string, string])[]
  )[];
  /** The request's `hits_addend`. */
  readonly hitsAddend?: number;
}

/** A view over the texts of `request`, laid one after the other. */
export function viewOf(request: RequestOfTest): RequestView {
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
