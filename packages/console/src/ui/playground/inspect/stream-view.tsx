import { useMemo, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import type { Exchange, RawEvent } from '../formats/format.ts'
import { groupHeaders } from './header-groups.ts'
import { Headers } from './request-comparison.tsx'

/** Events per page: a long stream has tens of thousands. */
const atOnce = 100
/** Limits in characters of an event in the list, and of an opened one. */
const preview = 200
const longest = 50_000

/** Shows the response: its status and headers, and each event as received. */
export function StreamView({ exchange }: { exchange: Exchange }) {
  const { events, status, responseHeaders = {}, outcome } = exchange
  const { telling, others } = groupHeaders(responseHeaders)
  return (
    <section class="inspect-part" aria-label="Response events">
      {status === undefined ? null : (
        <>
          <h3 class="inspect-title">
            Status <code>{status}</code>
          </h3>
          <Headers headers={telling} />
          {Object.keys(others).length === 0 ? null : (
            <details class="inspect-more">
              <summary>All other headers</summary>
              <Headers headers={others} />
            </details>
          )}
        </>
      )}
      <Events events={events} isRunning={outcome === 'running'} />
    </section>
  )
}

function Events({ events, isRunning }: { events: readonly RawEvent[]; isRunning: boolean }) {
  // Undefined selects the last page.
  const [page, setPage] = useState<number>()
  const pages = Math.max(Math.ceil(events.length / atOnce), 1)
  const at = Math.min(page ?? (isRunning ? pages - 1 : 0), pages - 1)
  const from = at * atOnce
  const raw = useMemo(() => (isRunning ? '' : events.map(asSent).join('')), [events, isRunning])
  return (
    <>
      <div class="inspect-bar">
        <h3 class="inspect-title">
          {events.length === 1 ? 'One event' : `${events.length.toLocaleString('en')} events`}
        </h3>
        {isRunning || events.length === 0 ? null : <CopyButton small look="quiet" text={raw} what="all events" />}
      </div>
      {events.length === 0 ? null : (
        <ol class="events" start={from + 1}>
          {events.slice(from, from + atOnce).map((event, index) => (
            <li key={from + index}>
              <EventLine event={event} />
            </li>
          ))}
        </ol>
      )}
      {pages === 1 ? null : (
        <nav class="inspect-pages" aria-label="Events">
          <Button small disabled={at === 0} onClick={() => setPage(at - 1)}>
            Earlier
          </Button>
          <span>
            {(from + 1).toLocaleString('en')} to {Math.min(from + atOnce, events.length).toLocaleString('en')}
          </span>
          <Button small disabled={at === pages - 1} onClick={() => setPage(at + 1)}>
            Later
          </Button>
        </nav>
      )}
    </>
  )
}

function EventLine({ event: { event, data, at } }: { event: RawEvent }) {
  const [open, setOpen] = useState(false)
  return (
    <details class="event" onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary>
        <span class="at">+{at < 10_000 ? `${Math.round(at)} ms` : `${(at / 1000).toFixed(1)} s`}</span>
        {event === undefined ? null : <span class="kind">{event}</span>}
        <code>{data.slice(0, preview)}</code>
      </summary>
      {open ? (
        <div class="event-data">
          <CopyButton small icon look="quiet" text={data} what="this event" />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the section scrolls and must be reachable by keyboard */}
          <pre tabIndex={0}>{cut(pretty(data))}</pre>
        </div>
      ) : null}
    </details>
  )
}

/** Formats an event as it was in the stream. */
const asSent = ({ event, data }: RawEvent): string =>
  `${event === undefined ? '' : `event: ${event}\n`}${data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('')}\n`

const cut = (text: string): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}\n… Copy includes the complete text.`

function pretty(data: string): string {
  try {
    return JSON.stringify(JSON.parse(data), null, 2)
  } catch {
    return data
  }
}
