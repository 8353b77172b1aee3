import type { IncomingMessage } from 'node:http'
import type { GatewayError } from '@modelgate/core'
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
const nothing = (): void => {}

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
    // The listeners stay: taking them off would cost more than what they do. But they must not hold the bytes, nor the promise
    // that does: a request lives as long as its answer.
    let give: (bytes: Uint8Array) => void = resolve
    let refuse: (error: GatewayError) => void = reject
    const settled = (): void => {
      pace.done()
      give = nothing
      refuse = nothing
      first = undefined
      rest = undefined
    }

    const onData = (data: Buffer | string): void => {
      // A host may have called setEncoding.
      const chunk = typeof data === 'string' ? Buffer.from(data, req.readableEncoding ?? 'utf8') : data
      size += chunk.length
      if (size > limit) {
        req.pause()
        refuse(tooLarge(limit))
        stop()
        return
      }
      pace.bytes += chunk.length
      if (first === undefined) first = chunk
      else if (rest === undefined) rest = [first, chunk]
      else rest.push(chunk)
    }
    const onEnd = (): void => {
      give(rest === undefined ? (first ?? empty) : Buffer.concat(rest, size))
      settled()
    }
    const onGone = (cause?: unknown): void => {
      if (req.readableEnded) return
      refuse(cutOff(cause))
      stop()
    }
    const pace = guardPace(() => {
      req.pause()
      refuse(tooSlow())
      stop()
    })
    const stop = (): void => {
      settled()
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    }
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}
