import { fromBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { parseObject } from '../../formats/shared/json-text.ts'
import { framesToEvents, type ReadFrame } from './frames-to-events.ts'

const decoder = new TextDecoder()

/** InvokeModel wraps each of the model's own events: `{bytes: base64}`. */
const unwrap: ReadFrame = (type, payload) => {
  if (type !== 'chunk') return undefined
  const { bytes } = parseObject(payload) ?? {}
  const inner = typeof bytes === 'string' ? fromBase64(bytes) : undefined
  const data = inner === undefined ? undefined : decoder.decode(inner)
  const event = data === undefined ? undefined : parseObject(data)?.type
  if (data === undefined || typeof event !== 'string')
    throw new GatewayError('upstream_bad_response', 'The upstream sent an event that holds nothing of the model.')
  return { event, data }
}

type Bytes = AsyncIterable<Uint8Array>

/** InvokeModel's frames as the model's own events. */
export const wrappedEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, unwrap)

/** Converse frames its events, and names them as they are. */
export const namedEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, (event, data) => ({ event, data }))
