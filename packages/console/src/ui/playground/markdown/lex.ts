import { Lexer, type MarkedToken, type Token, Tokenizer, type TokensList } from 'marked'

export type { MarkedToken } from 'marked'
export type Links = TokensList['links']

/** Limit of nested quotes, lists, emphasis and links; deeper ones are shown as written. */
const deepest = 16

/** Limit of characters of inline text parsed at once: hostile text takes quadratic time. */
const inlineAtOnce = 8_000

/** Creates a lexer that treats HTML as text and limits nesting. */
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

/** The lexer would drop cells beyond the header's. */
const hasCellsToSpare = (table: string, columns: number): boolean =>
  table.split('\n').some(
    (row) =>
      (row
        .trim()
        .replace(/^\||(?<!\\)\|$/g, '')
        .match(/(?<!\\)\|/g)?.length ?? 0) >= columns,
  )

/** All tokens are marked's own: no extension adds others. */
const own = (tokens: readonly Token[]): readonly MarkedToken[] => tokens as readonly MarkedToken[]

export interface Parsed {
  readonly text: string
  readonly blocks: readonly MarkedToken[]
  readonly links: Links
}

const nothing: Parsed = { text: '', blocks: [], links: {} }

/**
 * Parses a text into blocks; `inlineOf` parses their content when it is shown.
 *
 * @param before result of a shorter text that this one begins with: only its last block is parsed again
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
    // The lexer fails on some input, which must still be shown.
    return { text: source, blocks: [{ type: 'text', raw: source, text: source, escaped: true }], links: {} }
  }
}

/** Returns the link definitions in these blocks. */
const linksIn = (blocks: readonly MarkedToken[]): Links =>
  Object.fromEntries(
    blocks.flatMap((block) =>
      block.type === 'def' ? [[block.tag, { href: block.href, title: block.title }] as const] : [],
    ),
  )

/** Returns the blocks that more text cannot change: all but the last one and the blank lines after it. */
function settled(source: string, { text, blocks }: Parsed): readonly MarkedToken[] {
  if (text === '' || !source.startsWith(text)) return []
  const last = blocks.findLastIndex(({ type }) => type !== 'space')
  const kept = blocks.slice(0, Math.max(last, 0))
  const at = kept.reduce((sum, { raw }) => sum + raw.length, 0)
  // The lexer may join blocks with a line break that the source lacks.
  return source.startsWith(blocks[last]?.raw ?? '', at) ? kept : []
}

/** Parses inline text, in pieces. */
export function inlineOf(text: string, links: Links): readonly MarkedToken[] {
  try {
    return own(newLexer(links).inlineTokens(text))
  } catch {
    return [{ type: 'text', raw: text, text, escaped: true }]
  }
}

/** Cuts a long run of text, at the end of a word if possible. */
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
