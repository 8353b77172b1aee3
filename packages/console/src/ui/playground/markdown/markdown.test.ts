import fc from 'fast-check'
import { h } from 'preact'
import { describe, expect, it } from 'vitest'
import type { MarkdownProps } from './markdown.tsx'
import { componentOf, elementsIn, outline, rendered, textOf } from './rendered.test-support.ts'

const Markdown = await componentOf<MarkdownProps>('./markdown.tsx', 'Markdown')
const show = (text: string) => rendered(h(Markdown, { text, streaming: false }))
/** Returns the outline without the response's frame and the copy buttons of code. */
const short = (text: string): string => outline(show(text)).replace(/^div\((.*)\)$/, '$1')

describe('rendered markdown', () => {
  it.each([
    ['a paragraph', 'one\ntwo', 'p(one br() two)'],
    ['emphasis', '*a* **b** ~~c~~ `d`', 'p(em(a) strong(b) del(c) code(d))'],
    ['headings, below the page’s own', '# a\n\n###### b', 'h3(a) h6(b)'],
    ['a nested list', '- a\n  - b\n- c', 'ul(li(a ul(li(b))) li(c))'],
    ['a loose list', '1. a\n\n2. b', 'ol(li(p(a)) li(p(b)))'],
    ['tasks', '- [x] a\n- [ ] b', 'ul(li(input() a) li(input() b))'],
    ['a quote', '> a\n> > b', 'blockquote(p(a) blockquote(p(b)))'],
    ['a table', '|a|b|\n|-|-:|\n|**1**|2|', 'div(table(thead(tr(th(a) th(b))) tbody(tr(td(strong(1)) td(2)))))'],
    ['a link', '[a](https://a.example/b "c")', 'p(a(a))'],
    ['an address', 'see https://a.example now', 'p(see a(https://a.example) now)'],
    ['a link by reference', '[a][1]\n\n[1]: https://a.example', 'p(a(a)) p([1]: https://a.example)'],
    ['a line', 'a\n\n---\n\nb', 'p(a) hr() p(b)'],
    ['entities in prose, not in code', 'a &lt; b &#x41; `&lt;`', 'p(a < b A code(&lt;))'],
    ['HTML, as text', '<b>a</b>', 'p(< b>a< /b>)'],
  ])('shows %s', (_, text, wanted) => {
    const tight = (one: string): string => one.replace(/\s/g, '')
    expect(tight(short(text))).toBe(tight(wanted))
  })

  it('labels code, closed or not', () => {
    for (const text of ['```ts title="a.ts"\nconst a = 1\n```', '```ts title="a.ts"\nconst a = 1']) {
      const [figure] = elementsIn(show(text)).filter(({ tag }) => tag === 'figure')
      const [code] = elementsIn(figure === undefined ? [] : [figure]).filter(({ tag }) => tag === 'code')
      expect(textOf(code?.children ?? [])).toBe('const a = 1')
      expect(outline(figure === undefined ? [] : [figure])).toContain('ts title="a.ts"')
    }
  })

  it('opens links in a new tab without a referrer', () => {
    const [link] = elementsIn(show('[a](https://a.example)')).filter(({ tag }) => tag === 'a')
    expect(link?.attributes).toMatchObject({
      href: 'https://a.example/',
      target: '_blank',
      rel: 'noopener noreferrer nofollow',
    })
  })
})

/** Allow-list of elements: none loads, runs, sends or styles anything. */
const tame =
  /^(?:div|p|a|em|strong|del|code|br|h[3-6]|ul|ol|li|input|blockquote|table|thead|tbody|tr|th|td|hr|figure|figcaption|span|pre|button|svg|rect|path)$/
const tameAttributes =
  /^(?:class|href|title|target|rel|start|scope|tabIndex|type|checked|disabled|aria-[a-z]+|onClick|key|viewBox|fill|stroke[a-z-]*|d|x|y|rx|width|height)$/

function expectTame(text: string): void {
  for (const { tag, attributes } of elementsIn(show(text))) {
    expect(tag).toMatch(tame)
    for (const [name, value] of Object.entries(attributes)) {
      expect(name).toMatch(tameAttributes)
      if (name === 'href') expect(value).toMatch(/^(?:https?:\/\/|mailto:)/)
      // Handlers are the page's own functions, never text.
      if (name === 'onClick') expect(typeof value).toBe('function')
    }
  }
}

describe('hostile responses', () => {
  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<svg onload=alert(1)><a xlink:href="javascript:alert(1)">x</a></svg>',
    '<style>*{display:none}</style>',
    '<details open ontoggle=alert(1)>\n\n**x**\n</details>',
    '<a href="javascript:alert(1)">x</a>',
    '<!-- a --><base href="https://evil.example">',
  ])('show %s as written', (text) => {
    expectTame(text)
    expect(textOf(show(text)).replace(/\s/g, '')).toBe(text.replaceAll('**', '').replace(/\s/g, ''))
  })

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'javascript&#58;alert(1)',
    'javascript&colon;alert(1)',
    '&#106;avascript:alert(1)',
    'java&#x0A;script:alert(1)',
    'java\\script:alert(1)',
    '\u0001javascript:alert(1)',
    'vbscript:msgbox(1)',
    'data:text/html;base64,PHNjcmlwdD4=',
    'DATA:text/html,x',
    'file:///etc/passwd',
    'blob:https://a.example/1',
    '//evil.example',
    '/v1/models',
    'console/playground',
    'https:evil.example',
    'https://',
    'http://[',
    'about:blank',
  ])('make no link of %j', (address) => {
    for (const text of [
      `[x](${address})`,
      `[x](<${address}>)`,
      `x <${address}>`,
      `![x](${address})`,
      `[x][1]\n\n[1]: ${address}`,
    ]) {
      expectTame(text)
      expect(elementsIn(show(text)).filter(({ tag }) => tag === 'a')).toEqual([])
      expect(textOf(show(text))).toContain('x')
    }
  })

  it('make a link of a picture, and fetch nothing', () => {
    expect(short('![a cat](https://a.example/cat.png)')).toBe('p(a(Image: a cat))')
  })

  it.each([
    ['quotes', '> '.repeat(20_000)],
    ['lists', Array.from({ length: 400 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n')],
    ['numbered lists', '1. '.repeat(5_000)],
    ['quotes and lists', '> - '.repeat(5_000)],
    ['emphasis', `${'*a **b '.repeat(3_000)}${'** *'.repeat(3_000)}`],
    ['brackets', '['.repeat(20_000)],
    ['links in links', `${'['.repeat(2_000)}a${'](https://a.example)'.repeat(2_000)}`],
    ['unclosed code', '`a``'.repeat(20_000)],
    ['unclosed fence', `\`\`\`\n${'a\n'.repeat(50_000)}`],
    ['stars', 'a**b'.repeat(50_000)],
    ['angles', '<'.repeat(50_000)],
    ['quotation marks in code', `\`\`\`js\n${'"\\'.repeat(9_000)}\n\`\`\``],
    ['comments in code', `\`\`\`js\n${'/*'.repeat(9_000)}\n\`\`\``],
  ])('are parsed in bounded time and depth: %s', (_, text) => {
    const began = performance.now()
    const nodes = show(text)
    expect(performance.now() - began).toBeLessThan(2_000)
    expect(depthOf(nodes)).toBeLessThan(120)
  })

  const depthOf = (nodes: ReturnType<typeof show>): number =>
    Math.max(0, ...nodes.map((node) => (typeof node === 'string' ? 0 : 1 + depthOf(node.children))))
})

describe('any text', () => {
  const bits = [
    ...[
      '# ',
      '## ',
      '> ',
      '- ',
      '* ',
      '1. ',
      '    ',
      '\t',
      '\n',
      '\n\n',
      '---',
      '===',
      '```',
      '~~~',
      '```js\n',
      '`',
      '``',
    ],
    ...[
      '*',
      '**',
      '_',
      '__',
      '~~',
      '[',
      ']',
      '(',
      ')',
      '](',
      '![',
      '<',
      '>',
      '</',
      '|',
      '|-|-|',
      '\n|-|-|\n',
      '\\',
      '&',
      '&lt;',
    ],
    ...[
      '[ ] ',
      '[x] ',
      ': ',
      '[1]: ',
      'https://',
      'javascript:',
      '<!--',
      '-->',
      '\r\n',
      '\0',
      ' ',
      '"',
      "'",
      '{',
      '\u2028',
      '👍🏽',
    ],
  ]
  const word = fc.stringMatching(/^q[a-z]{2,7}q$/)
  const written = fc
    .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...bits) }, { weight: 2, arbitrary: word }), {
      maxLength: 60,
    })
    .map((parts) => parts.join(''))

  it('is shown with all its words', () => {
    fc.assert(
      fc.property(written, (text) => {
        const nodes = show(text)
        const attributes = elementsIn(nodes).map(({ attributes }) => `${attributes.href} ${attributes.title}`)
        const seen = `${textOf(nodes)}\n${attributes.join('\n')}`
        for (const [word] of text.matchAll(/q[a-z]{2,7}q/g))
          if (!seen.includes(word)) throw new Error(`${word} is lost`)
      }),
      { numRuns: 1_500 },
    )
  })

  it('becomes only allowed elements', () => {
    fc.assert(
      fc.property(fc.oneof(written, fc.string({ unit: 'binary', maxLength: 200 })), (text) => expectTame(text)),
      { numRuns: 500 },
    )
  })
})
