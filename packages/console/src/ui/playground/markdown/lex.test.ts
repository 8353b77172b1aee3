import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inlinePieces, type Parsed, parse } from './lex.ts'

const answer = `# Title

Some *text* that goes on.

- a
- b

  more of b

\`\`\`js
const a = 1

const b = 2
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted
> text

End with [a link][1].

[1]: https://a.example
`

describe('a growing text', () => {
  it('parses the same in one piece and in any pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length), { maxLength: 12 }), (cuts) => {
        let parsed: Parsed | undefined
        for (const cut of [...cuts.sort((a, b) => a - b), answer.length]) parsed = parse(answer.slice(0, cut), parsed)
        expect(parsed?.blocks).toEqual(parse(answer).blocks)
        expect(parsed?.links).toEqual(parse(answer).links)
      }),
    )
  })

  it('keeps finished blocks, so that they need no new rendering', () => {
    const before = parse('one\n\ntwo\n\nthr')
    const after = parse('one\n\ntwo\n\nthree', before)
    expect(after.blocks[0]).toBe(before.blocks[0])
    expect(after.blocks[2]).toBe(before.blocks[2])
    expect(after.links).toBe(before.links)
  })

  it('parses a text that is no continuation from its start', () => {
    expect(parse('# b', parse('# a\n\nc')).blocks).toEqual(parse('# b').blocks)
  })
})

it('cuts long lines between words and loses none', () => {
  const text = 'word '.repeat(10_000)
  const pieces = inlinePieces(text)
  expect(pieces.join('')).toBe(text)
  expect(pieces.every((piece) => piece.length <= 8_000 && piece.endsWith(' '))).toBe(true)
  expect(inlinePieces('a'.repeat(20_000)).join('')).toBe('a'.repeat(20_000))
})
