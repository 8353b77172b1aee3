import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { CodeBlock } from './code-block.tsx'
import { decodeEntities } from './entities.ts'
import { useGrowing } from './growing.ts'
import { inlineOf, inlinePieces, type Links, type MarkedToken, type Parsed, parse } from './lex.ts'
import { safeLink } from './safe-link.ts'
import { useSettling } from './settling.ts'

export interface MarkdownProps {
  text: string
  /** True while more text is to come: rendering is then throttled by its cost. */
  streaming: boolean
}

/** Renders a model's markdown as elements: HTML in it stays text, and nothing is loaded. */
export function Markdown({ text, streaming }: MarkdownProps) {
  const settled = useSettling(text, streaming)
  const before = useRef<Parsed | undefined>(undefined)
  // Keeps the same element, so that other updates of the page do not render a long response again.
  const blocks = useMemo(() => {
    const parsed = parse(settled, streaming ? before.current : undefined)
    before.current = parsed
    return <Blocks tokens={parsed.blocks} links={parsed.links} />
  }, [settled, streaming])
  return <div class="markdown">{blocks}</div>
}

type Kind<T extends MarkedToken['type']> = Extract<MarkedToken, { type: T }>

/** Unchanged blocks return the same elements, which Preact skips. */
const shownBlocks = new WeakMap<MarkedToken, { links: Links; element: VNode }>()

function blockOnce(token: MarkedToken, links: Links, key: number): VNode {
  const shown = shownBlocks.get(token)
  if (shown?.links === links) return shown.element
  const element = <Block key={key} token={token} links={links} />
  shownBlocks.set(token, { links, element })
  return element
}

function Blocks({ tokens, links }: { tokens: readonly MarkedToken[]; links: Links }) {
  const count = useGrowing(tokens.length, 200)
  return <>{tokens.slice(0, count).map((token, index) => blockOnce(token, links, index))}</>
}

function Block({ token, links }: { token: MarkedToken; links: Links }): ComponentChildren {
  switch (token.type) {
    case 'space':
      return null
    case 'hr':
      return <hr />
    case 'code':
      return <CodeBlock text={token.text} info={token.lang ?? ''} />
    case 'heading':
      return <Heading depth={token.depth}>{inline(token.text, links)}</Heading>
    case 'blockquote':
      return (
        <blockquote>
          <Blocks tokens={token.tokens as MarkedToken[]} links={links} />
        </blockquote>
      )
    case 'list':
      return <List token={token} links={links} />
    case 'table':
      return <Table token={token} links={links} />
    case 'checkbox':
      return <Checkbox checked={token.checked} />
    case 'paragraph':
      return <p>{inline(token.text, links)}</p>
    case 'text':
      return token.escaped === true && token.tokens === undefined ? token.text : inline(token.text, links)
    default:
      // A link definition or an unknown token is shown as written.
      return <p>{token.raw}</p>
  }
}

/** Headings of a response begin below the page's own. */
function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  const Tag = `h${Math.min(depth + 2, 6)}` as 'h3' | 'h4' | 'h5' | 'h6'
  return <Tag class={`level-${depth}`}>{children}</Tag>
}

function List({ token, links }: { token: Kind<'list'>; links: Links }) {
  const count = useGrowing(token.items.length, 200)
  const items = token.items.slice(0, count).map((item, index) => (
    <li key={index} class={item.task ? 'task' : undefined}>
      <Blocks tokens={item.tokens as MarkedToken[]} links={links} />
    </li>
  ))
  return token.ordered ? <ol start={token.start === '' ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>
}

const Checkbox = ({ checked }: { checked: boolean }) => (
  <input type="checkbox" checked={checked} disabled aria-label={checked ? 'done' : 'to do'} />
)

function Table({ token, links }: { token: Kind<'table'>; links: Links }) {
  const count = useGrowing(token.rows.length, 100)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll and must be reachable by keyboard
    <div class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} scope="col" class={cell.align ?? undefined}>
                {inline(cell.text, links)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.slice(0, count).map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} class={cell.align ?? undefined}>
                  {inline(cell.text, links)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const inline = (text: string, links: Links) => <Inline text={text} links={links} />

function Inline({ text, links }: { text: string; links: Links }) {
  const pieces = useMemo(() => inlinePieces(text), [text])
  const count = useGrowing(pieces.length, 4)
  return (
    <>
      {pieces.slice(0, count).map((piece, index) => (
        <Piece key={index} text={piece} links={links} />
      ))}
    </>
  )
}

function Piece({ text, links }: { text: string; links: Links }) {
  return useMemo(() => <>{inlineOf(text, links).map(spanOf)}</>, [text, links])
}

const spansOf = (tokens: readonly unknown[]): ComponentChildren => (tokens as readonly MarkedToken[]).map(spanOf)

function spanOf(token: MarkedToken): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{spansOf(token.tokens)}</strong>
    case 'em':
      return <em>{spansOf(token.tokens)}</em>
    case 'del':
      return <del>{spansOf(token.tokens)}</del>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'escape':
      return token.text
    case 'link':
      return <Link token={token}>{spansOf(token.tokens)}</Link>
    case 'image':
      // Loading a picture would tell a host chosen by the response that it was read.
      return <Link token={token}>{`Image: ${token.text === '' ? token.href : decodeEntities(token.text)}`}</Link>
    case 'text':
      return token.tokens === undefined ? decodeEntities(token.text) : spansOf(token.tokens)
    default:
      return token.raw
  }
}

/** An address that is not allowed stays readable as text. */
function Link({ token, children }: { token: Kind<'link' | 'image'>; children: ComponentChildren }) {
  const href = safeLink(token.href)
  if (href === undefined) return <>{token.raw}</>
  return (
    <a href={href} title={token.title ?? href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}
