import { useMemo } from 'preact/hooks'
import { CopyButton } from '../../parts/copy-button.tsx'
import { cx } from '../../parts/cx.ts'
import type { ApiRequest, Json } from '../formats/format.ts'
import type { ExplainedTarget, Loss } from './explain.ts'
import { type JsonLine, jsonLines, type Origin, originsIn } from './json-lines.ts'
import { JsonTree, lineId } from './json-tree.tsx'
import { markLosses, shownLines } from './marks.ts'
import { shorten } from './shorten.ts'

/** Limit of lines shown on each side, in addition to annotated ones. */
const most = 800

const severities = { fatal: 'refuses the call', warn: 'lost', note: 'for your information' } as const

/** Shows the client's request beside the upstream request, with the losses between them. */
export function Comparison({ request, target }: { request: ApiRequest; target: ExplainedTarget }) {
  const { losses, request: sent } = target
  const told = useMemo(() => losses.filter(({ side }) => side !== 'answer'), [losses])
  const client = useMemo(() => jsonLines(shorten(request.body)), [request])
  const { marks, lineOf } = useMemo(() => markLosses(client, told), [client, told])
  return (
    <>
      <Losses losses={losses} onChoose={(loss) => goTo(lineId('client', lineOf(loss)))} />
      <div class="sides">
        <section aria-labelledby="client-side">
          <Head id="client-side" title="You sent" path={request.path} body={request.body} what="your request" />
          <JsonTree id="client" label="What you sent" shown={shownLines(client, marks, most)} marks={marks} />
        </section>
        {sent === undefined ? null : <Sent client={client} sent={sent} />}
      </div>
    </>
  )
}

function Sent({ client, sent }: { client: readonly JsonLine[]; sent: NonNullable<ExplainedTarget['request']> }) {
  const lines = useMemo(() => jsonLines(shorten(sent.body as Json)), [sent])
  const originOf = useMemo(() => originsIn(client), [client])
  return (
    <section aria-labelledby="upstream-side">
      <Head
        id="upstream-side"
        title="Upstream gets"
        path={sent.path}
        body={sent.body as Json}
        what="the upstream request"
      />
      <JsonTree
        id="upstream"
        label="What the upstream gets"
        shown={shownLines(lines, new Map(), most)}
        noteOf={(line) => {
          const origin = originOf(line)
          return origin === undefined ? undefined : looks[origin]
        }}
      />
      <p class="inspect-legend">
        <span class="origin-elsewhere">stood elsewhere</span> <span class="origin-new">new or changed</span>
      </p>
      <details class="inspect-more">
        <summary>Headers</summary>
        <Headers headers={sent.headers} />
      </details>
    </section>
  )
}

/** Unchanged lines have no label. */
const looks: Readonly<Record<Origin, { look: string; word: string } | undefined>> = {
  same: undefined,
  elsewhere: { look: 'origin-elsewhere', word: 'stood elsewhere' },
  new: { look: 'origin-new', word: 'new or changed' },
}

interface HeadProps {
  id: string
  title: string
  path: string
  body: Json
  what: string
}

function Head({ id, title, path, body, what }: HeadProps) {
  const text = useMemo(() => JSON.stringify(body, null, 2), [body])
  return (
    <div class="inspect-bar">
      <h3 id={id} class="inspect-title">
        {title} <code>{path}</code>
      </h3>
      <CopyButton small icon look="quiet" text={text} what={what} />
    </div>
  )
}

function Losses({ losses, onChoose }: { losses: readonly Loss[]; onChoose: (loss: Loss) => void }) {
  if (losses.length === 0) return <p class="inspect-hint whole">Everything you wrote arrives.</p>
  return (
    <section aria-labelledby="losses">
      <h3 id="losses" class="inspect-title">
        {losses.length === 1 ? 'One thing' : `${losses.length} things`} to know
      </h3>
      <ul class="losses">
        {losses.map((loss) => (
          <li key={`${loss.path} ${loss.side} ${loss.kind} ${loss.detail}`}>
            <LossLine loss={loss} onChoose={onChoose} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function LossLine({ loss, onChoose }: { loss: Loss; onChoose: (loss: Loss) => void }) {
  const { path, side, kind, severity, detail } = loss
  const content = (
    <>
      <span class={cx('chip', severity === 'fatal' ? 'bad' : severity === 'warn' && 'warn')}>{kind}</span>
      <span class="out-of-sight">({severities[severity]})</span>
      <code>{path === '' ? 'the whole request' : path}</code>
      <span class="detail">
        {side === 'answer' ? 'In the answer: ' : ''}
        {detail}
      </span>
    </>
  )
  return side === 'answer' ? (
    <div class="loss">{content}</div>
  ) : (
    <button type="button" class="loss" onClick={() => onChoose(loss)}>
      {content}
    </button>
  )
}

/** Headers, one per line. */
export const Headers = ({ headers }: { headers: Readonly<Record<string, string>> }) => (
  <dl class="headers">
    {Object.entries(headers).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** Scrolls to the line and focuses it. */
function goTo(id: string): void {
  const line = document.getElementById(id)
  line?.focus({ preventScroll: true })
  line?.scrollIntoView({ block: 'nearest' })
}
