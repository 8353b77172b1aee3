import { describe, expect, it } from 'vitest'
import { documents, read } from './pages.mjs'

/** Pages are written for about 1,500 words; the rest is tolerance for small additions. */
const maxWords = 1600
const isLimited = (page: string): boolean =>
  page.startsWith('docs/') && !page.startsWith('docs/reference/') && !page.startsWith('docs/decisions/')

/** Counts the words of a page outside of code blocks, tables, comments and link targets. */
function proseWords(text: string): number {
  const prose = text
    .replaceAll(/^ *```.*?^ *```$/gms, '')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/^ *\|.*$/gm, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
  return prose.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

describe('the length of documentation pages', () => {
  it(`is at most ${maxWords} words of prose outside of docs/reference and docs/decisions`, () => {
    const pages = documents.filter(isLimited).map((page) => ({ page, words: proseWords(read(page)) }))
    expect(pages.length).toBeGreaterThan(20)
    expect(pages.filter(({ words }) => words > maxWords)).toEqual([])
  })

  it.each([
    ['prose and headings', '# One two\n\nThree, four - [five](six.md#seven) `eight`.\n', 6],
    ['no code blocks', 'one\n\n```sh\ntwo three\n```\n\n::: tip\nfour\n:::\n', 3],
    ['no tables and comments', 'one\n\n| two | three |\n| --- | --- |\n<!-- four\nfive -->\n', 1],
  ])('counts %s', (_what, text, words) => {
    expect(proseWords(text)).toBe(words)
  })
})
