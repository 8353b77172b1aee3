import { GatewayError } from '../base/errors.ts'

type Bytes = AsyncIterable<Uint8Array>

/**
 * A way to read streams that is loaded by the first one that is read.
 *
 * @param load a dynamic `import()` of a literal path, so that every bundler finds it
 */
export const lazyEventReader =
  (load: () => Promise<(bytes: Bytes) => Bytes>) =>
  (bytes: Bytes): Bytes => ({
    [Symbol.asyncIterator]: () => {
      const source = bytes[Symbol.asyncIterator]()
      let opened: AsyncIterator<Uint8Array> | undefined
      const open = async (): Promise<IteratorResult<Uint8Array>> => {
        const read = await load().catch((cause: unknown) => {
          // Nothing that the upstream is to blame for.
          const details = { cause, hints: { ours: true } }
          throw new GatewayError('internal', "The upstream's stream could not be read.", details)
        })
        opened ??= read({ [Symbol.asyncIterator]: () => source })[Symbol.asyncIterator]()
        return opened.next()
      }
      return {
        next: () => (opened === undefined ? open() : opened.next()),
        // Also where nothing has been read yet: the connection is to be let go.
        return: async () => (await (opened ?? source).return?.()) ?? { done: true, value: undefined },
      }
    },
  })
