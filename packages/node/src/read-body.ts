import type { IncomingMessage } from 'node:http'
import { cutOff, tooLarge, tooSlow } from './body-errors.ts'
import { decodeBody, isEncoded } from './decode-body.ts'
import { parsedBody } from './parsed-body.ts'
import { guardPace } from './slow-body.ts'

/**
 * The whole request body, content-encoding undone, also where a body parser of the host was here before us.
 *
 * @throws GatewayError `request_too_large` (at once if content-length says so, else at the first byte too many, and for
 * encoded bodies also once the decoded size exceeds the limit), `unsupported_media_type` (an encoding we cannot undo),
 * `timeout` (the body stopped coming), `cancelled` (the client left).
 */
export function readBody(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  let parsed: Uint8Array | undefined
  try {
    parsed = parsedBody(req)
  } catch (error) {
    return Promise.reject(error)
  }
  if (parsed !== undefined) return parsed.length > limit ? Promise.reject(tooLarge(limit)) : Promise.resolve(parsed)
  const encoding = req.headers['content-encoding']
  return isEncoded(encoding) ? readEncoded(req, limit, encoding) : readStream(req, limit)
}

async function readEncoded(req: IncomingMessage, limit: number, encoding: string): Promise<Uint8Array> {
  // Said before the body is read: nothing of it could be used.
  const decode = decodeBody(encoding, limit)
  return decode(await readStream(req, limit))
}

const empty = new Uint8Array(0)

function readStream(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const announced = req.headers['content-length']
    if (announced !== undefined && Number(announced) > limit) {
      reject(tooLarge(limit, announced))
      return
    }
    if (req.readableEnded) {
      resolve(empty)
      return
    }
    if (req.destroyed) {
      reject(cutOff())
      return
    }
    let first: Uint8Array | undefined
    let rest: Uint8Array[] | undefined
    let size = 0

    const onData = (data: Buffer | string): void => {
      // A host may have called setEncoding.
      const chunk = typeof data === 'string' ? Buffer.from(data, req.readableEncoding ?? 'utf8') : data
      size += chunk.length
      if (size > limit) {
        stop()
        req.pause()
        reject(tooLarge(limit))
        return
      }
      pace.bytes += chunk.length
      if (first === undefined) first = chunk
      else if (rest === undefined) rest = [first, chunk]
      else rest.push(chunk)
    }
    // The listeners stay: whatever comes behind the end finds a settled promise, and taking them off would cost more. The bytes
    // must not stay with them: a request lives as long as its answer.
    const onEnd = (): void => {
      pace.done()
      resolve(rest === undefined ? (first ?? empty) : Buffer.concat(rest, size))
      first = undefined
      rest = undefined
    }
    const onGone = (cause?: unknown): void => {
      if (req.readableEnded) return
      stop()
      reject(cutOff(cause))
    }
    const pace = guardPace(() => {
      stop()
      req.pause()
      reject(tooSlow())
    })
    const stop = (): void => {
      pace.done()
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    }
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}
