import { crc32 } from 'node:zlib'

// Reads AWS's event stream encoding (`application/vnd.amazon.eventstream`) without code of the gateway.

/** Prefix of the name of an exception. */
export const exceptionPrefix = 'exception '

const preludeBytes = 12
const checksumBytes = 4
const textType = 7

/** Returns the headers of a frame. Clients of models get headers with text values only. */
function readHeaders(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes.readUInt8(nameEnd)
    if (type !== textType) throw new Error(`the header ${name} has the type ${type}`)
    const valueAt = nameEnd + 3
    at = valueAt + bytes.readUInt16BE(nameEnd + 1)
    if (at > bytes.length) throw new Error(`the header ${name} exceeds its frame`)
    headers[name] = bytes.toString('utf8', valueAt, at)
  }
  return headers
}

/** Returns a frame as a server-sent event of its name. */
function showFrame(frame: Buffer): string {
  const end = frame.length - checksumBytes
  if (frame.readUInt32BE(end) !== crc32(frame.subarray(0, end))) throw new Error('the checksum of a frame is wrong')
  const payloadAt = preludeBytes + frame.readUInt32BE(4)
  const headers = readHeaders(frame.subarray(preludeBytes, payloadAt))
  const kind = headers[':message-type']
  const name = headers[`:${kind}-type`]
  if ((kind !== 'event' && kind !== 'exception') || name === undefined)
    throw new Error(`a frame has the headers ${JSON.stringify(headers)}`)
  if (headers[':content-type'] !== 'application/json') throw new Error('the payload of a frame is not declared as JSON')
  const payload = frame.toString('utf8', payloadAt, end).replaceAll('\n', '\ndata: ')
  return `event: ${kind === 'exception' ? exceptionPrefix : ''}${name}\ndata: ${payload}\n\n`
}

/** Shows frames as server-sent events, so that the same checks read all streams. */
export class FrameReader {
  #held = Buffer.alloc(0)

  /** Returns the events of the frames that are complete. Throws an Error for an invalid one. */
  push(bytes: Uint8Array): string {
    this.#held = Buffer.concat([this.#held, bytes])
    let shown = ''
    while (this.#held.length >= preludeBytes) {
      const length = this.#held.readUInt32BE(0)
      if (this.#held.readUInt32BE(8) !== crc32(this.#held.subarray(0, 8)))
        throw new Error('the checksum of a prelude is wrong')
      if (this.#held.length < length) break
      shown += showFrame(this.#held.subarray(0, length))
      this.#held = this.#held.subarray(length)
    }
    return shown
  }

  /** Returns an incomplete event for bytes that are no whole frame. */
  end(): string {
    return this.#held.length === 0 ? '' : `data: ${this.#held.length} bytes of an incomplete frame`
  }
}

const frameType = /^application\/vnd\.amazon\.eventstream/

/** Returns whether a response with this content type consists of frames. */
export const hasFrames = (contentType: string | null | undefined): boolean => frameType.test(contentType ?? '')

/** Returns the text of a response. Frames are shown as server-sent events. */
export function readableText(bytes: Uint8Array, contentType: string | null | undefined): string {
  if (!hasFrames(contentType)) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const reader = new FrameReader()
  return reader.push(bytes) + reader.end()
}
