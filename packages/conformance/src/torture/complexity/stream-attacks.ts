import { frame, streamedEvents, textHeader } from '@modelgate/core/test-support'
import type { Json } from '../../base/json.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { mutateJson } from '../../fuzz/json-mutations.ts'
import { streamBases } from '../../fuzz/streams.ts'
import { type Attack, attacksOn } from './body-attacks.ts'
import { growthsOf, repetitions } from './growths.ts'
import { growingText, placesOf } from './places.ts'
import type { UpstreamFormat } from './targets.ts'

/** One event as sent; `name` is empty if the format has no event names. */
interface Sent {
  readonly name: string
  readonly data: string
}

interface Seed {
  readonly label: string
  readonly speaks: UpstreamFormat
  readonly events: readonly { readonly name: string; readonly data: Json | undefined; readonly text: string }[]
}

export interface StreamAttack {
  readonly name: string
  readonly kind: Attack['kind'] | 'events' | 'lines'
  readonly speaks: UpstreamFormat
  /** Returns a stream of about this many bytes. */
  write(bytes: number): Uint8Array
}

const seeds: readonly Seed[] = [
  ...streamBases.map(({ format, events }, at) => ({
    label: `${format} stream ${at}`,
    speaks: format,
    events: events.map(({ event, data }) => {
      const text = typeof data === 'string' ? data : mutateJson(data, [])
      return { name: event, data: typeof data === 'string' ? undefined : (JSON.parse(text) as Json), text }
    }),
  })),
  {
    label: 'converse stream',
    speaks: 'converse',
    events: streamedEvents.map(([name, data]) => ({ name, data, text: JSON.stringify(data) })),
  },
]

const encoder = new TextEncoder()
const frameOf = ({ name, data }: Sent): Uint8Array =>
  frame([textHeader(':event-type', name), textHeader(':message-type', 'event')], data)
const onWire = (speaks: UpstreamFormat, events: readonly Sent[]): Uint8Array =>
  speaks === 'converse'
    ? Buffer.concat(events.map(frameOf))
    : encoder.encode(
        events.map(({ name, data }) => `${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`).join(''),
      )

/** Number of consecutive events that are repeated together: one, or a block from its start to its end. */
const windowLengths = [1, 2, 3, 4]

function attacksOnSeed({ label, speaks, events }: Seed): StreamAttack[] {
  const sent: readonly Sent[] = events.map(({ name, text }) => ({ name, data: text }))
  const size = sent.reduce((sum, { data }) => sum + data.length + 16, 0)
  const attacks: StreamAttack[] = []
  const add = (kind: StreamAttack['kind'], name: string, write: (bytes: number) => readonly Sent[]): void => {
    attacks.push({ name: `${label}: ${name}`, kind, speaks, write: (bytes) => onWire(speaks, write(bytes)) })
  }
  /** Repeats the events from `from` as often as they fit. */
  const repeated = (from: number, length: number, items: (at: number) => readonly Json[], bytes: number): Sent[] => {
    const out: Sent[] = []
    let left = bytes
    let at = 0
    do {
      for (const [place, data] of items(at++).entries()) {
        const event = { name: sent[from + place]?.name ?? '', data: JSON.stringify(data) }
        left -= event.data.length + event.name.length + 16
        out.push(event)
      }
    } while (left > 0)
    return [...sent.slice(0, from), ...out, ...sent.slice(from + length)]
  }
  for (const length of windowLengths)
    for (let from = 0; from + length <= events.length; from++) {
      const window = events.slice(from, from + length).map(({ data }) => data)
      if (!window.every((data) => data !== undefined)) continue
      for (const { name, items } of repetitions(window as Json[]))
        add('events', `events ${from + 1} to ${from + length} ${name}`, (bytes) =>
          repeated(from, length, items, bytes - size),
        )
    }
  events.forEach(({ data }, at) => {
    if (data === undefined) return
    for (const { name, kind, write } of attacksOn(data))
      if (kind !== 'pair')
        add(kind, `event ${at + 1}: ${name}`, (bytes) =>
          sent.map((event, place) =>
            place === at ? { ...event, data: write(bytes - size + event.data.length) } : event,
          ),
        )
    // One long text and many events: code that reads the text again for each event costs their product.
    for (const place of placesOf(data)) {
      if (place.kind !== 'text' || /\/(type|id|object|model|role|name|\w+_id)$/.test(place.label)) continue
      const [growth] = growthsOf(place)
      if (growth === undefined) continue
      for (const other of [at, at + 1, at + 2, events.length - 2]) {
        const item = events[other]?.data
        const [first, ...others] = item === undefined ? [] : repetitions([item])
        const many = others.find(({ name }) => /distinct innermost/.test(name)) ?? others[0] ?? first
        if (many === undefined) continue
        for (const unfinished of [false, true])
          add(
            'pair',
            `event ${at + 1}: ${growth.name}${unfinished ? ', broken at its end,' : ''} × event ${other + 1} ${many.name}`,
            (bytes) => {
              const share = Math.max(16, Math.floor((bytes - size) / 2))
              const write = (size: number): string => growth.write(size) + (unfinished ? '\\"}' : '')
              const grown = growingText(data, [{ place, write }])(share)
              const out = repeated(other, 1, many.items, share)
              // The first of the repeated events may be the grown one.
              out[at] = { name: sent[at]?.name ?? '', data: grown }
              return out
            },
          )
      }
    }
  })
  return attacks
}

/** Lines of an event stream that are not events, or have no data. */
const lines: Readonly<Record<string, string>> = {
  comments: ': c\n',
  'empty lines': '\n',
  'lines of data': 'data: {\n',
  'empty lines of data': 'data:\n',
  names: 'event: a\n',
  ids: 'id: 7\n',
  'unknown fields': 'abc: d\n',
  'carriage returns': '\r',
  'empty events': 'data: {}\n\n',
  'events of invalid JSON': 'data: {"a\n\n',
}

const lineAttacks: readonly StreamAttack[] = formats.flatMap((speaks) =>
  Object.entries(lines).map(([name, line]) => ({
    name: `${speaks} stream: many ${name}`,
    kind: 'lines' as const,
    speaks,
    write: (bytes) => {
      const { events } = seeds.find((seed) => seed.speaks === speaks) as Seed
      const sent = events.map(({ name, text }) => ({ name, data: text }))
      return Buffer.concat([
        onWire(speaks, sent.slice(0, 2)),
        encoder.encode(line.repeat(Math.max(1, Math.floor(bytes / line.length)))),
        onWire(speaks, sent.slice(2)),
      ])
    },
  })),
)

export const streamAttacks: readonly StreamAttack[] = [...seeds.flatMap(attacksOnSeed), ...lineAttacks]

/** Returns the stream without an attack. */
export function plainStream(speaks: UpstreamFormat): Uint8Array {
  const { events } = seeds.find((seed) => seed.speaks === speaks) as Seed
  return onWire(
    speaks,
    events.map(({ name, text }) => ({ name, data: text })),
  )
}
