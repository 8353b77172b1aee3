import { useMemo } from 'preact/hooks'
import { CopyButton } from '../../parts/copy-button.tsx'
import { countLosses, type LossCounts, type ToldLoss } from '../call/losses.ts'
import type { ApiRequest, Json } from '../formats/format.ts'
import type { ExplainedTarget } from './explain.ts'
import { type JsonLine, jsonLines, type Origin, originsIn } from './json-lines.ts'
import { JsonTree, lineId } from './json-tree.tsx'
import { LossList, mergeLosses } from './loss-list.tsx'
import { markLosses, shownLines } from './marks.ts'
import { shorten } from './shorten.ts'

/** Limit of lines shown on each side, in addition to annotated ones. */
const most = 800

export interface ComparisonProps {
  request: ApiRequest
  target: ExplainedTarget
  /** Losses that only the response reported, in addition to the target's. */
  reported?: readonly ToldLoss[]
  /** Numbers of losses of the call. Default: the target's. */
  counts?: LossCounts | undefined
  /** True: the target responded, so that the absence of losses may be stated. Default: false. */
  delivered?: boolean
}

/** Shows the client's request beside the upstream request, then the losses between them. */
export function Comparison({ request, target, reported = [], counts, delivered = false }: ComparisonProps) {
  const { losses, request: sent } = target
  const requestLosses = useMemo(() => losses.filter(({ side }) => side !== 'answer'), [losses])
  const client = useMemo(() => jsonLines(shorten(request.body)), [request])
  const { marks, lineOf } = useMemo(() => markLosses(client, requestLosses), [client, requestLosses])
  return (
    <>
      <div class="sides">
        <section aria-labelledby="client-side">
          <Head id="client-side" title="Client request" path={request.path} body={request.body} what="your request" />
          <JsonTree id="client" label="Client request body" shown={shownLines(client, marks, most)} marks={marks} />
        </section>
        {sent === undefined ? null : <Sent client={client} sent={sent} />}
      </div>
      <LossList
        losses={mergeLosses(losses, reported)}
        counts={counts ?? countLosses(losses)}
        delivered={delivered}
        onChoose={(loss) => goTo(lineId('client', lineOf(loss)))}
      />
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
        title="Upstream request"
        path={sent.path}
        body={sent.body as Json}
        what="the upstream request"
      />
      <JsonTree
        id="upstream"
        label="Upstream request body"
        shown={shownLines(lines, new Map(), most)}
        noteOf={(line) => {
          const origin = originOf(line)
          return origin === undefined ? undefined : looks[origin]
        }}
      />
      <p class="inspect-legend">
        <span class="origin-elsewhere">moved</span> <span class="origin-new">added or changed</span>
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
  elsewhere: { look: 'origin-elsewhere', word: 'moved' },
  new: { look: 'origin-new', word: 'added or changed' },
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
