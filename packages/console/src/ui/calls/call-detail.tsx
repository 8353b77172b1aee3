import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ApiError } from '../admin/api.ts'
import { buttonClass } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { cx } from '../parts/cx.ts'
import { inMs, whole } from '../parts/figures.ts'
import { Notice } from '../parts/notice.tsx'
import { tabOf } from '../playground/operations/tab-of.ts'
import { shareFragment } from '../playground/share/fragment.ts'
import { fetchCall, type RecentCall, type RecentCallDetails } from './api.ts'
import { CallBodies } from './call-bodies.tsx'
import { callerOf, costOf, dateOf, lookOf } from './call-texts.ts'
import { repeatableRequest } from './read-body.ts'
import { Timeline } from './timeline.tsx'

type Fetched =
  | { readonly state: 'loading' }
  | { readonly state: 'found'; readonly call: RecentCallDetails }
  | { readonly state: 'failed'; readonly message: string }

export interface CallDetailProps {
  id: string
  token: string
  hasPlayground: boolean
  /** Called with each call that is shown. */
  onCall: (call: RecentCallDetails) => void
}

/** Shows one call: its facts, the timeline of its attempts, its requests and responses, and its losses by field. */
export function CallDetail({ id, token, hasPlayground, onCall }: CallDetailProps) {
  const [fetched, setFetched] = useState<Fetched>({ state: 'loading' })
  useEffect(() => {
    const controller = new AbortController()
    setFetched({ state: 'loading' })
    fetchCall(token, id, controller.signal).then(
      (call) => {
        setFetched({ state: 'found', call })
        onCall(call)
      },
      (error: ApiError) => {
        if (!controller.signal.aborted) setFetched({ state: 'failed', message: error.message })
      },
    )
    return () => controller.abort()
  }, [id, token])
  if (fetched.state === 'loading') return <p class="inspect-empty">Loading…</p>
  if (fetched.state === 'failed') return <Notice kind="warn">{fetched.message}</Notice>
  return <Found call={fetched.call} hasPlayground={hasPlayground} />
}

function Found({ call, hasPlayground }: { call: RecentCallDetails; hasPlayground: boolean }) {
  return (
    <div class="inspect call-detail">
      <p class="call-title">
        <span class={cx('chip', lookOf(call))}>{call.status}</span>
        <strong>{call.model ?? `${call.method} ${call.path}`}</strong>
        {hasPlayground ? <PlaygroundLink call={call} /> : null}
      </p>
      {call.error === undefined ? null : (
        <Notice
          kind="warn"
          {...(call.error.kind === undefined ? { title: 'Internal error' } : { title: call.error.kind })}
        >
          {call.error.message === undefined ? null : <p>{call.error.message}</p>}
        </Notice>
      )}
      <Facts call={call} />
      {call.outcome === 'rejected' ? null : <Timeline call={call} />}
      <CallBodies call={call} />
      {call.skipped.length === 0 ? null : <Skipped call={call} />}
    </div>
  )
}

/**
 * Opens the Playground with the model of a call, in its format or tab. A chat call brings its request if it was captured completely. Never with
 * a token.
 */
function PlaygroundLink({ call }: { call: RecentCallDetails }) {
  const { operation, format, model, stream, bodies } = call
  const request = bodies.state === 'captured' ? repeatableRequest(bodies.request) : undefined
  const tab = tabOf(operation)
  const chat = useMemo(() => shareFragment({ v: 1, format, model, stream, request }), [call])
  if (model === undefined || tab === undefined || (tab === 'chat' && format === undefined)) return null
  const hasRequest = tab === 'chat' && request !== undefined
  return (
    <a
      class={buttonClass({ look: 'quiet', small: true })}
      href={`./playground${tab === 'chat' ? chat : `#${new URLSearchParams({ tab, model })}`}`}
      title={hasRequest ? 'With its request' : tab === 'chat' ? 'With its model and format' : 'With its model'}
    >
      Open in Playground
    </a>
  )
}

function Facts({ call }: { call: RecentCall }) {
  const { usage, caller } = call
  const of = (count: number | undefined, text: string): string => (count ? `, ${whole.format(count)} ${text}` : '')
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Time', dateOf(call.startedAt)],
    ['Caller', caller?.name === undefined ? callerOf(call) : `${caller.name} (${caller.id})`],
    ['Operation', [call.operation, call.format, call.stream ? 'stream' : undefined].filter(Boolean).join(' · ')],
    [
      'Responded',
      call.upstream === undefined
        ? undefined
        : [`${call.upstream}/${call.upstreamModel ?? call.model}`, call.upstreamFormat, laneText(call)]
            .filter(Boolean)
            .join(' · '),
    ],
    ['Outcome', [call.outcome, call.finish].filter(Boolean).join(' · ')],
    ['First event', call.firstEventMs === undefined ? undefined : inMs(call.firstEventMs)],
    ['Duration', inMs(call.durationMs)],
    ['Input', usage === undefined ? undefined : `${whole.format(usage.input)} tokens${of(usage.cached, 'cached')}`],
    [
      'Output',
      usage === undefined
        ? undefined
        : `${whole.format(usage.output)} tokens${of(usage.reasoning, 'reasoning')}${call.basis === undefined || call.basis === 'reported' ? '' : ` (${call.basis})`}`,
    ],
    [
      'Units',
      call.units === undefined
        ? undefined
        : Object.entries(call.units)
            .map(([name, count]) => `${whole.format(count)} ${name}`)
            .join(', '),
    ],
    ['Cost', call.cost === undefined ? undefined : costOf(call)],
  ]
  return (
    <dl class="call-figures">
      {rows.map(([name, value]) =>
        value === undefined || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
      <div>
        <dt>Request</dt>
        <dd>
          <code>{call.requestId}</code>{' '}
          <CopyButton small icon look="quiet" text={call.requestId} what="the request id" />
        </dd>
      </div>
    </dl>
  )
}

const laneText = ({ lane }: RecentCall): string | undefined =>
  lane === undefined ? undefined : lane === 'wire' ? 'unchanged' : 'translated'

function Skipped({ call: { skipped } }: { call: RecentCall }) {
  return (
    <section class="call-part" aria-labelledby="call-skipped">
      <h3 id="call-skipped" class="inspect-title">
        Targets that cannot accept this request
      </h3>
      <ul class="losses">
        {skipped.map(({ upstream, model, reason, param }) => (
          <li key={`${upstream} ${model}`} class="loss">
            <code>
              {upstream}/{model}
            </code>
            <code>{param}</code>
            <span class="detail">{reason}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
