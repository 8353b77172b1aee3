import type { Loss } from '@modelgate/core'
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Comparison, type Side } from '../compare/comparison.tsx'
import { type ListedLoss, LossList } from '../compare/loss-list.tsx'
import { countLosses } from '../compare/losses.ts'
import { inBytes } from '../parts/figures.ts'
import { Notice } from '../parts/notice.tsx'
import { TabPanel, Tabs } from '../parts/tabs.tsx'
import type { RecentAttemptBodies, RecentBodies, RecentBody, RecentCallDetails } from './api.ts'
import { lossesOf } from './call-losses.ts'
import { readBody } from './read-body.ts'

type Captured = Extract<RecentBodies, { readonly state: 'captured' }>

/** Shows what was sent and received, next to each other, and the losses between them. */
export function CallBodies({ call }: { call: RecentCallDetails }) {
  const { bodies } = call
  return (
    <>
      <section class="call-part" aria-labelledby="call-bodies">
        <h3 id="call-bodies" class="inspect-title">
          Requests and responses
        </h3>
        {bodies.state === 'captured' ? <CapturedBodies call={call} bodies={bodies} /> : reasons[bodies.state]}
        {call.operation === 'realtime' ? (
          <p class="inspect-hint">The messages of realtime sessions are not captured.</p>
        ) : null}
      </section>
      {bodies.state === 'captured' || call.outcome === 'rejected' ? null : <LossList {...listOf(call)} />}
    </>
  )
}

const reasons: Readonly<Record<Exclude<RecentBodies['state'], 'captured'>, ComponentChildren>> = {
  off: (
    <p class="inspect-hint">
      Not captured. To keep them in the memory of the gateway, start the server with <code>--capture bodies</code>, or
      set <code>recentCalls.capture</code> to <code>'bodies'</code>.
    </p>
  ),
  dropped: (
    <Notice kind="warn">
      <p>Dropped to stay within memory: newer calls needed the room.</p>
    </Notice>
  ),
  none: <p class="inspect-hint">The call was rejected before its body was read.</p>,
}

function CapturedBodies({ call, bodies }: { call: RecentCallDetails; bodies: Captured }) {
  const { attempts } = bodies
  const shown = shownAttempt(call, attempts)
  const [chosen, setChosen] = useState(shown)
  const attempt = attempts[chosen]
  const sides = <Sides key={chosen} call={call} bodies={bodies} attempt={attempt} isShown={chosen === shown} />
  const missing = call.attemptCount - attempts.length
  return (
    <>
      {attempts.length < 2 ? null : (
        <Tabs
          name="attempt"
          label="Attempt"
          tabs={attempts.map(({ index }, at) => ({ id: String(at), title: titleOf(call, index) }))}
          chosen={String(chosen)}
          onChoose={(id) => setChosen(Number(id))}
        />
      )}
      {missing > 0 ? (
        <p class="inspect-hint">
          {missing === 1 ? 'One attempt is' : `${missing} attempts are`} not kept: only the first three and the last
          one.
        </p>
      ) : null}
      {attempts.length < 2 ? (
        sides
      ) : (
        <TabPanel name="attempt" chosen={String(chosen)}>
          {sides}
        </TabPanel>
      )}
    </>
  )
}

/** Returns the attempt that responded, else the last one. */
function shownAttempt({ attempts: facts }: RecentCallDetails, attempts: readonly RecentAttemptBodies[]): number {
  const responded = attempts.findLastIndex(
    ({ index }) => facts[index] !== undefined && facts[index]?.error === undefined,
  )
  return responded < 0 ? attempts.length - 1 : responded
}

function titleOf({ attempts }: RecentCallDetails, index: number): string {
  const facts = attempts[index]
  if (facts === undefined) return `Attempt ${index + 1}`
  return `${index + 1} · ${facts.upstream} · ${facts.status ?? facts.error ?? 'sent'}`
}

interface SidesProps {
  call: RecentCallDetails
  bodies: Captured
  /** Undefined: no upstream was called. */
  attempt: RecentAttemptBodies | undefined
  /** The client received the response of this attempt. */
  isShown: boolean
}

function Sides({ call, bodies: { request, response, maxBodyBytes }, attempt, isShown }: SidesProps) {
  const losses = useMemo(() => lossesOf(call), [call])
  // The losses are those of the attempt that responded.
  const marked = (side: 'answer' | undefined): readonly Loss[] =>
    isShown ? losses.filter((loss) => loss.side === side) : none
  const requestLosses = useMemo(() => marked(undefined), [losses, isShown])
  const responseLosses = useMemo(() => marked('answer'), [losses, isShown])
  const ofClient = useSide({
    id: 'client-request',
    title: 'Client request',
    what: "the client's request",
    body: request,
    absent: call.operation === 'realtime' ? 'A realtime session begins without a body.' : 'The request had no body.',
    path: undefined,
    maxBodyBytes,
  })
  const toUpstream = useSide({
    id: 'upstream-request',
    title: 'Upstream request',
    what: 'the upstream request',
    body: attempt?.request,
    absent: attempt?.path === undefined ? 'The request was not sent.' : 'The request had no body.',
    path: attempt?.path,
    maxBodyBytes,
  })
  const fromUpstream = useSide({
    id: 'upstream-response',
    title: 'Upstream response',
    what: 'the upstream response',
    body: attempt?.response,
    absent: 'No response arrived.',
    path: undefined,
    maxBodyBytes,
  })
  const toClient = useSide({
    id: 'client-response',
    title: 'Client response',
    what: "the client's response",
    body: response,
    absent: 'The client disconnected before the response began.',
    path: undefined,
    maxBodyBytes,
  })
  if (attempt === undefined)
    return (
      <div class="call-bodies">
        <Comparison from={ofClient} to={toClient} related={false} losses={none} />
      </div>
    )
  return (
    <div class="call-bodies">
      <Comparison from={ofClient} to={toUpstream} losses={requestLosses} {...(isShown ? { list: listOf(call) } : {})} />
      <Comparison from={fromUpstream} to={isShown ? toClient : undefined} losses={responseLosses} />
    </div>
  )
}

const none: readonly never[] = []

const listOf = (
  call: RecentCallDetails,
): { losses: readonly ListedLoss[]; counts: ReturnType<typeof countLosses>; delivered: boolean } => {
  const losses = lossesOf(call)
  const { warnings, notes } = countLosses(losses)
  // Those that are not listed are not known to be notes.
  return {
    losses,
    counts: { warnings: warnings + call.lossCount - losses.length, notes },
    delivered: call.outcome === 'finished' && call.upstream !== undefined,
  }
}

interface SideProps {
  id: string
  title: string
  what: string
  path: string | undefined
  body: RecentBody | undefined
  /** Shown if there is no body. */
  absent: string
  maxBodyBytes: number
}

/** Returns a body as a side of a comparison, with its state. */
function useSide({ id, title, what, path, body, absent, maxBodyBytes }: SideProps): Side {
  const { json, text } = useMemo(() => readBody(body), [body])
  return {
    id,
    title,
    what,
    path,
    body: json,
    text: body?.text,
    above: body === undefined ? null : <BodyFacts body={body} maxBodyBytes={maxBodyBytes} />,
    below:
      body === undefined ? (
        <p class="body-state">{absent}</p>
      ) : text === undefined ? (
        placeholderOf(body)
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts scroll and must be reachable by keyboard
        <pre class="body-text" tabIndex={0}>
          {text}
        </pre>
      ),
  }
}

/** Returns what is shown in place of a body that is not kept; undefined for JSON, which is shown as such. */
function placeholderOf({ kind, size, contentType = 'of an unknown type' }: RecentBody): ComponentChildren {
  switch (kind) {
    case 'binary':
      return (
        <p class="body-state">
          Binary body, {inBytes(size)} {contentType}
        </p>
      )
    case 'secret':
      return <p class="body-state">Not kept: it contains a credential that the provider issued.</p>
    case 'no-memory':
      return <p class="body-state">Not kept: the bodies of running calls needed too much memory.</p>
    default:
      return size === 0 ? <p class="body-state">Empty body</p> : null
  }
}

function BodyFacts({ body, maxBodyBytes }: { body: RecentBody; maxBodyBytes: number }) {
  const { kind, contentType, size, isCut, isShortened, isComplete } = body
  const facts = [contentType?.split(';')[0], inBytes(size)].filter(Boolean).join(' · ')
  const notes = [
    ...(isCut ? [`Cut at ${inBytes(maxBodyBytes)} of ${inBytes(size)}.`] : []),
    ...(isComplete ? [] : ['Incomplete: it ended early.']),
    ...(isShortened ? ['Long base64 is shortened.'] : []),
    ...(kind === 'form' ? ['Its fields as JSON, files by type and size.'] : []),
  ]
  return (
    <p class="body-facts">
      {kind === 'binary' ? null : facts}
      {notes.map((note) => (
        <span key={note} class={isCut || !isComplete ? 'body-note warn' : 'body-note'}>
          {note}
        </span>
      ))}
    </p>
  )
}
