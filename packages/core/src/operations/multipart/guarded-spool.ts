import { isThenable } from '../../base/async.ts'
import { ignoreRejection, observe, runSilently, settleWithin, typeNameOf } from '../../base/callbacks.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Logger } from '../../config/config.ts'
import type { Spool } from '../../http/spool.ts'

/**
 * Opens a host's spool. Each write, and each piece that is read, comes within `ms` or fails the call; what `close` fails with is
 * logged. Throws a TypeError for what is no spool.
 */
export function openGuarded(open: () => Spool, ms: number, logger: Logger): Spool {
  const spool: unknown = open()
  if (!isSpool(spool)) {
    ignoreRejection(spool)
    throw new TypeError(`spool returned ${typeNameOf(spool)}: return an object with write, read and close`)
  }
  return {
    write(chunk) {
      const written: unknown = spool.write(chunk)
      return isThenable(written) ? settleWithin(written, { name: 'spool.write', ms }).then(() => {}) : undefined
    },
    read: (start, end) => piecesOf(() => spool.read(start, end), ms),
    close: () => observe(logger, 'spool.close', () => spool.close()),
  }
}

const isSpool = (value: unknown): value is Spool =>
  typeof value === 'object' &&
  value !== null &&
  (['write', 'read', 'close'] as const).every((name) => typeof (value as Partial<Spool>)[name] === 'function')

async function* piecesOf(read: () => AsyncIterable<Uint8Array>, ms: number): AsyncGenerator<Uint8Array> {
  let source: AsyncIterator<Uint8Array> | undefined
  try {
    source = read()[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await settleWithin(source.next(), { name: 'spool.read', ms })
      if (done === true) return
      if (!(value instanceof Uint8Array)) throw new TypeError(`spool.read yielded ${typeNameOf(value)}: yield bytes`)
      yield value
    }
  } catch (cause) {
    // Of the gateway's own kind: it must not look as if the upstream had failed.
    throw new GatewayError('internal', 'The gateway failed to read the upload.', { cause })
  } finally {
    runSilently(() => source?.return?.())
  }
}
