import fc from 'fast-check'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { errorEvent, good, malformed } from '../../base/streams.ts'

/** End of a connection: correctly by its framing, within it, or by a reset. */
export type End = 'well' | 'within' | 'reset'

/** A mutated stream. */
export interface Mutated {
  readonly bytes: Buffer
  readonly end: End
}

/** A change of a stream's events or bytes. Places are shares of the whole, so that they fit every stream. */
type Change = (events: readonly Buffer[]) => Buffer[]

const at = (events: readonly Buffer[], share: number): number =>
  Math.min(events.length - 1, Math.floor(share * events.length))
const inBytes =
  (change: (bytes: Buffer) => Buffer): Change =>
  (events) => [change(Buffer.concat(events))]

// Uniformly distributed: fast-check would prefer the ends, and an empty stream reveals little.
const share = fc.noBias(fc.integer({ min: 0, max: 9999 })).map((part) => part / 10_000)

/** Text that a reader might mistake for a marker, or for the end of its container. */
const decoys = [
  ...formats.flatMap((format) => [good[format].at(-1) ?? '', malformed[format], errorEvent[format]]),
  'data: [DONE',
  'data: [DONE]',
  'event: message_stop\n',
  'event: response.completed\n\n',
  'data: {"finishReason":"STOP"}\n\n',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":null}]}\n\n',
  'data: {"type":"response.failed","response":{"status":"failed"}}\n\n',
  ': [DONE]\n\n',
  'data:\n\n',
  'data: null\n\ndata: []\n\ndata: 7\n\n',
  '\n',
  '\r',
  '\n\n',
  '\uFEFF',
  '\u0000',
  '}',
  '"',
  '\\',
]

const changes: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: share.map((place): Change => inBytes((bytes) => bytes.subarray(0, Math.floor(place * bytes.length)))),
  },
  {
    weight: 3,
    arbitrary: share.map(
      (place): Change =>
        (events) =>
          events.slice(0, at(events, place)),
    ),
  },
  {
    weight: 2,
    arbitrary: share.map(
      (place): Change =>
        (events) =>
          events.filter((_, index) => index !== at(events, place)),
    ),
  },
  share.map(
    (place): Change =>
      (events) =>
        events.flatMap((event, index) => (index === at(events, place) ? [event, event] : [event])),
  ),
  fc.tuple(share, share).map(
    ([one, other]): Change =>
      (events) => {
        const [a, b] = [at(events, one), at(events, other)]
        return events.map((event, index) => (index === a ? events[b] : index === b ? events[a] : event) ?? event)
      },
  ),
  fc.tuple(share, fc.constantFrom(...decoys)).map(
    ([place, decoy]): Change =>
      (events) => [...events.slice(0, at(events, place)), Buffer.from(decoy), ...events.slice(at(events, place))],
  ),
  fc.tuple(share, fc.constantFrom(...decoys)).map(([place, decoy]) =>
    inBytes((bytes) => {
      const cut = Math.floor(place * bytes.length)
      return Buffer.concat([bytes.subarray(0, cut), Buffer.from(decoy), bytes.subarray(cut)])
    }),
  ),
  fc.tuple(share, fc.nat({ max: 255 })).map(([place, byte]) =>
    inBytes((bytes) => {
      const changed = Buffer.from(bytes)
      changed[Math.floor(place * bytes.length)] = byte
      return changed
    }),
  ),
  fc.tuple(share, fc.nat({ max: 40 })).map(([place, length]) =>
    inBytes((bytes) => {
      const cut = Math.floor(place * bytes.length)
      return Buffer.concat([bytes.subarray(0, cut), bytes.subarray(cut + length)])
    }),
  ),
)

/** Returns good streams, unchanged and with every marker in the model's text. */
const sources = (format: Format): readonly Buffer[][] => {
  const text = JSON.stringify(
    ' [DONE]\n\ndata: [DONE]\n\n{"type":"message_stop"} "finishReason":"STOP" event: response.completed',
  )
  const tricky = good[format].map((event) => event.replaceAll(' two', text.slice(1, -1)))
  return [good[format], tricky].map((events) => events.map((event) => Buffer.from(event)))
}

const mutated = (format: Format): fc.Arbitrary<Mutated> =>
  fc
    .record({
      source: fc.constantFrom(...sources(format)),
      changes: fc.array(changes, { minLength: 1, maxLength: 3, size: 'max' }),
      end: fc.constantFrom<End>('well', 'well', 'within', 'reset'),
    })
    .map(({ source, changes: all, end }) => ({
      bytes: Buffer.concat(
        all.reduce<Buffer[]>((events, change) => (events.length === 0 ? events : change(events)), source),
      ),
      end,
    }))

/** Returns this many mutated streams, the same in every run. */
export const mutatedStreams = (format: Format, count: number, seed: number): Mutated[] =>
  fc.sample(mutated(format), { numRuns: count, seed })
