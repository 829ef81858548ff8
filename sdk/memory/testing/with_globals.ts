/**
 * Runs tests as in runtimes that lack some globals, such as React Native.
 *
 * @module
 */

/** WebCrypto of React Native with `react-native-get-random-values`. */
export const RANDOM_ALONE = {
  crypto: { getRandomValues: crypto.getRandomValues.bind(crypto) },
};

/** Runs `use` with other globals, and puts the real ones back. */
export async function withGlobals(
  changes: Readonly<Record<string, unknown>>,
  use: () => void | Promise<void>,
): Promise<void> {
  const real = Object.keys(changes).map((name) =>
    [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const
  );
  for (const [name, value] of Object.entries(changes)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  try {
    await use();
  } finally {
    for (const [name, descriptor] of real) {
      Reflect.deleteProperty(globalThis, name);
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
    }
  }
}
