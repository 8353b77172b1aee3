import { useMemo, useState } from 'preact/hooks'
import { firstLines, shortenObject } from '../../compare/shorten.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { TabPanel, Tabs } from '../../parts/tabs.tsx'
import type { Exchange } from '../formats/format.ts'
import { highlight } from '../markdown/highlight.ts'
import { type AsCode, type Snippet, tokenVariable } from './as-code.ts'
import { snippetsOf } from './snippets.ts'

/** Limit of lines shown of a long request. */
const most = 600

export interface RequestViewProps {
  exchange: Pick<Exchange, 'format' | 'request'>
  base: string
  withToken: boolean
  /** Writes the code. Default: that of chat. */
  snippets?: ((call: AsCode) => readonly Snippet[]) | undefined
  /** Prefix of the ids, unique on the page. */
  name?: string
}

/** Shows the request as a command and as code. */
export function RequestView({ exchange, base, withToken, snippets = snippetsOf, name = 'as-code' }: RequestViewProps) {
  const { format, request } = exchange
  const [chosen, setChosen] = useState('curl')
  const whole = useMemo(
    () => snippets({ format, request, base, withToken }),
    [snippets, format, request, base, withToken],
  )
  const shown = useMemo(() => {
    const short = { ...request, body: shortenObject(request.body) }
    return snippets({ format, request: short, base, withToken })
  }, [snippets, format, request, base, withToken])
  const at = Math.max(
    whole.findIndex(({ id }) => id === chosen),
    0,
  )
  const snippet = whole[at]
  if (snippet === undefined) return null
  return (
    <section class="inspect-part" aria-label="Request as code">
      <div class="inspect-bar">
        <Tabs name={name} label="As" tabs={whole} chosen={snippet.id} onChoose={setChosen} />
        <CopyButton
          key={snippet.id}
          small
          look="quiet"
          text={snippet.code}
          what={snippet.id === 'curl' ? 'the curl command' : `the ${snippet.title} code`}
        />
      </div>
      <TabPanel name={name} chosen={snippet.id}>
        <Shown snippet={shown[at] ?? snippet} isCut={(shown[at]?.code.length ?? 0) < snippet.code.length} />
      </TabPanel>
      {withToken ? (
        <p class="inspect-hint">
          The code doesn’t contain your token. Set <code>{tokenVariable}</code> first.
        </p>
      ) : null}
    </section>
  )
}

function Shown({ snippet, isCut }: { snippet: Snippet; isCut: boolean }) {
  const { text, cut } = firstLines(snippet.code, most)
  return (
    <>
      <div class="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll and must be reachable by keyboard */}
        <pre tabIndex={0}>
          <code>
            {highlight(text, snippet.language).map(({ text, kind }) =>
              kind === undefined ? text : <span class={kind}>{text}</span>,
            )}
          </code>
        </pre>
      </div>
      {isCut || cut > 0 ? (
        <p class="inspect-hint">
          {cut > 0 ? `${cut.toLocaleString('en')} more lines are not shown. ` : 'Long values are shortened. '}
          Copy includes the complete text.
        </p>
      ) : null}
    </>
  )
}
