import { GatewayError } from '../base/errors.ts'

type Bytes = AsyncIterable<Uint8Array>

/**
 * Returns a function that converts response streams with code that the first stream loads.
 *
 * @param load a dynamic `import()` of a literal path, so that bundlers find the module
 */
export const lazyEventReader =
  (load: () => Promise<(bytes: Bytes) => Bytes>) =>
  (bytes: Bytes): Bytes => ({
    [Symbol.asyncIterator]: () => {
      const source = bytes[Symbol.asyncIterator]()
      let opened: AsyncIterator<Uint8Array> | undefined
      const open = async (): Promise<IteratorResult<Uint8Array>> => {
        const read = await load().catch((cause: unknown) => {
          // A failed import is not the upstream's fault.
          const details = { cause, hints: { ours: true } }
          throw new GatewayError('internal', "The upstream's stream could not be read.", details)
        })
        opened ??= read({ [Symbol.asyncIterator]: () => source })[Symbol.asyncIterator]()
        return opened.next()
      }
      return {
        next: () => (opened === undefined ? open() : opened.next()),
        // Releases the connection, even if nothing has been read yet.
        return: async () => (await (opened ?? source).return?.()) ?? { done: true, value: undefined },
      }
    },
  })
