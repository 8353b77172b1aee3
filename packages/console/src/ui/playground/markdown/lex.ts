import { Lexer, type MarkedToken, type Token, Tokenizer, type TokensList } from 'marked'

export type { MarkedToken } from 'marked'
export type Links = TokensList['links']

/** Quotes and lists in each other, and likewise emphasis and links; what lies deeper is shown as it was written. */
const deepest = 16

/** Characters of one run of inline text that are read at once: the reading of hostile ones costs their square. */
const inlineAtOnce = 8_000

/** A reader that knows no HTML, so that it stays text, and that goes no deeper than it should. */
function newLexer(links: Links): Lexer {
  const tokenizer = new Tokenizer()
  const { blockquote, list, emStrong, del, link, reflink, table } = tokenizer
  let depth = 0
  const bounded = <A extends unknown[], R>(read: (this: Tokenizer, ...args: A) => R) =>
    function (this: Tokenizer, ...args: A): R | undefined {
      if (depth >= deepest) return undefined
      depth++
      try {
        return read.apply(this, args)
      } finally {
        depth--
      }
    }
  Object.assign(tokenizer, {
    blockquote: bounded(blockquote),
    list: bounded(list),
    emStrong: bounded(emStrong),
    del: bounded(del),
    link: bounded(link),
    reflink: bounded(reflink),
    html: () => undefined,
    tag: () => undefined,
    table(this: Tokenizer, source: string) {
      const found = table.call(this, source)
      return found !== undefined && hasCellsToSpare(found.raw, found.header.length) ? undefined : found
    },
  })
  const lexer = new Lexer({ tokenizer, gfm: true, breaks: true })
  Object.assign(lexer.tokens.links, links)
  return lexer
}

/** Cells beyond the header's would be dropped. */
const hasCellsToSpare = (table: string, columns: number): boolean =>
  table.split('\n').some(
    (row) =>
      (row
        .trim()
        .replace(/^\||(?<!\\)\|$/g, '')
        .match(/(?<!\\)\|/g)?.length ?? 0) >= columns,
  )

/** Both kinds of tokens are marked's own: no extension adds others. */
const own = (tokens: readonly Token[]): readonly MarkedToken[] => tokens as readonly MarkedToken[]

export interface Parsed {
  readonly text: string
  readonly blocks: readonly MarkedToken[]
  readonly links: Links
}

const nothing: Parsed = { text: '', blocks: [], links: {} }

/**
 * The blocks of a text; what stands inside them is read by `inlineOf` when it is shown.
 *
 * @param before what was read of a shorter text that this one begins with: only its last block is read again
 */
export function parse(text: string, before: Parsed = nothing): Parsed {
  const source = text.replace(/\r\n?/g, '\n')
  const kept = settled(source, before)
  const from = kept.reduce((sum, { raw }) => sum + raw.length, 0)
  try {
    const lexer = newLexer(linksIn(kept))
    const blocks = own(lexer.blockTokens(source.slice(from), lexer.tokens))
    const links = { ...lexer.tokens.links }
    const isSame = JSON.stringify(links) === JSON.stringify(before.links)
    return { text: source, blocks: [...kept, ...blocks], links: isSame ? before.links : links }
  } catch {
    // The lexer gives up on what it cannot read. It is still to be seen.
    return { text: source, blocks: [{ type: 'text', raw: source, text: source, escaped: true }], links: {} }
  }
}

/** The addresses that are defined in these blocks. */
const linksIn = (blocks: readonly MarkedToken[]): Links =>
  Object.fromEntries(
    blocks.flatMap((block) =>
      block.type === 'def' ? [[block.tag, { href: block.href, title: block.title }] as const] : [],
    ),
  )

/** The blocks that more text cannot change: all but the last one and the blank lines behind it. */
function settled(source: string, { text, blocks }: Parsed): readonly MarkedToken[] {
  if (text === '' || !source.startsWith(text)) return []
  const last = blocks.findLastIndex(({ type }) => type !== 'space')
  const kept = blocks.slice(0, Math.max(last, 0))
  const at = kept.reduce((sum, { raw }) => sum + raw.length, 0)
  // The lexer may join blocks with a line break of its own.
  return source.startsWith(blocks[last]?.raw ?? '', at) ? kept : []
}

/** What stands in a line of text, in pieces that are read one by one. */
export function inlineOf(text: string, links: Links): readonly MarkedToken[] {
  try {
    return own(newLexer(links).inlineTokens(text))
  } catch {
    return [{ type: 'text', raw: text, text, escaped: true }]
  }
}

/** A long run of text cut where a word ends, if it can be. */
export function inlinePieces(text: string): readonly string[] {
  if (text.length <= inlineAtOnce) return [text]
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const at = text.length - from <= inlineAtOnce ? -1 : lastSpace(text.slice(from, from + inlineAtOnce))
    const end = at > 0 ? from + at + 1 : from + inlineAtOnce
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

const lastSpace = (text: string): number => Math.max(text.lastIndexOf('\n'), text.lastIndexOf(' '))
