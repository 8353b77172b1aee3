import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it, vi } from 'vitest'
import { createCanceller } from '../base/async.ts'
import type { ModelRequest, Part } from '../formats/ir.ts'
import { estimateInput, estimateTokens, splitForCounting } from './count-tokens.ts'
import { tokensByCharacters } from './estimate-body.ts'

const quiet = { warn() {}, error() {} }
const options = { tokenizer: undefined, logger: quiet, signal: createCanceller(), callbackMs: 1000 }
const turn = (...parts: Part[]): ModelRequest['turns'][number] => ({ role: 'user', parts })
const text = (words: string): Part => ({ type: 'text', text: words })
const estimate = async (words: string): Promise<number> =>
  (await estimateTokens({ turns: [turn(text(words))] }, options)).tokens

/** Repeats the text up to a million characters. */
const megabyte = (unit: string): string => unit.repeat(Math.ceil(1_000_000 / unit.length)).slice(0, 1_000_000)

function randomText(alphabet: (random: number) => number): string {
  let seed = 1
  const codes: string[] = []
  for (let i = 0; i < 1_000_000; i++) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    codes.push(String.fromCharCode(alphabet(seed / 2_147_483_648)))
  }
  return codes.join('')
}

describe('a token estimate', () => {
  it('is close to the count of the tokenizer', async () => {
    const words = 'The quick brown fox jumps over the lazy dog. Il a plu hier à Paris. 今天天气很好。 '.repeat(40)
    const exact = countTokens(words)
    expect(Math.abs((await estimate(words)) - exact)).toBeLessThan(exact * 0.02 + 10)
  })

  it('counts the names of special tokens as ordinary text', async () => {
    const special = '<|endoftext|><|im_start|>system<|endofprompt|>'
    expect(await estimate(special)).toBeGreaterThan(15)
  })

  it.each(['', '\ud800', 'a\udc00\ud83d', '\0', '🎉'.repeat(1000)])('handles unusual text (%#)', async (odd) => {
    expect(await estimate(odd)).toBeGreaterThan(0)
  })

  // Without the cuts this takes a minute; the bound is wide because other tests run concurrently.
  it.each([
    ['one letter', () => megabyte('a')],
    ['spaces', () => megabyte(' ')],
    ['newlines', () => megabyte('\n')],
    ['one punctuation mark', () => megabyte('!')],
    ['one character of three bytes', () => megabyte('中')],
    ['one surrogate pair', () => megabyte('🎉')],
    ['letters of two alphabets', () => megabyte('eé')],
    ['digits', () => megabyte('1')],
    ['random letters', () => randomText((random) => 97 + Math.floor(random * 26))],
    ['random characters of three bytes', () => randomText((random) => 0x4e00 + Math.floor(random * 20_000))],
    ['random punctuation marks', () => randomText((random) => 33 + Math.floor(random * 14))],
  ])(
    'of a million characters without words finishes quickly (%s)',
    async (_name, make) => {
      const long = make()
      await estimate('warm')
      const startedAt = performance.now()
      expect(await estimate(long)).toBeGreaterThan(1000)
      expect(performance.now() - startedAt).toBeLessThan(10_000)
    },
    30_000,
  )

  it('extrapolates for a longer text and yields to other tasks', async () => {
    const unit = 'All work and no play makes Jack a dull boy. '
    let turns = 0
    const others = setInterval(() => turns++, 0)
    const long = await estimate(unit.repeat(100_000))
    clearInterval(others)
    expect(turns).toBeGreaterThan(3)
    expect(Math.abs(long / (countTokens(unit.repeat(100)) * 1000) - 1)).toBeLessThan(0.01)
  })

  it('stops when the client disconnects', async () => {
    const signal = createCanceller()
    const counting = estimateTokens({ turns: [turn(text(megabyte('word ')))] }, { ...options, signal })
    signal.abort()
    await expect(counting).rejects.toMatchObject({ info: { kind: 'cancelled' } })
  })

  it('counts characters if the tokenizer is not installed', async () => {
    vi.resetModules()
    vi.doMock('gpt-tokenizer/encoding/o200k_base', () => {
      throw new Error('Cannot find package')
    })
    const { estimateTokens: without } = await import('./count-tokens.ts')
    expect(await without({ turns: [turn(text('x'.repeat(400)))] }, options)).toEqual({ tokens: 107, by: 'characters' })
    vi.doUnmock('gpt-tokenizer/encoding/o200k_base')
  })
})

describe('the pieces of a text', () => {
  it.each([
    'Hello world, how are you?',
    megabyte('word '),
    megabyte('中文'),
    megabyte('🎉'),
    `\ud83d${megabyte('x')}`,
    'a'.repeat(63),
    'a'.repeat(64),
    'a'.repeat(65),
    '',
  ])('add up to the text without splitting a character (%#)', (whole) => {
    const cut = [...splitForCounting(whole, 32_768)]
    expect(cut.join('') === whole).toBe(true)
    for (const piece of cut.slice(0, -1)) expect(/[\ud800-\udbff]$/.test(piece)).toBe(false)
  })

  it('keep ordinary text whole', () => {
    expect([
      ...splitForCounting('export const x = (y: number): string => String(y)\n'.repeat(100), 32_768),
    ]).toHaveLength(1)
  })
})

it.each([
  ['', 0],
  ['abcd', 1],
  ['abcde', 2],
  ['привет', 3],
  ['今天', 2],
])('estimates %j at %i tokens by its characters', (words, tokens) => {
  expect(tokensByCharacters(words)).toBe(tokens)
})

describe('the estimated input of a request', () => {
  const textOf = (request: Parameters<typeof estimateInput>[0]): string => estimateInput(request).text
  const image: Part = { type: 'media', kind: 'image', source: { type: 'base64', data: 'AAAA'.repeat(10_000) } }

  it('contains all text that the model receives', () => {
    const parts: Part[] = [
      text('spoken'),
      { type: 'refusal', text: 'refused' },
      { type: 'reasoning', text: 'pondered', seal: { issuer: 'messages', data: 'sealed' } },
      { type: 'tool-call', id: 'call_1', name: 'called', input: '{"city":"asked"}' },
      { type: 'tool-result', callId: 'call_1', parts: [text('answered'), { ...image }] },
      { type: 'media', kind: 'document', source: { type: 'text', text: 'written' } },
      { type: 'media', kind: 'document', mediaType: 'text/plain', source: { type: 'base64', data: btoa('encoded') } },
      { type: 'native', format: 'gemini', value: { executableCode: { code: 'computed' } } },
    ]
    const messageText = textOf({
      turns: [turn(...parts)],
      tools: {
        list: [
          { type: 'function', name: 'offered', description: 'described', schema: { properties: { shaped: {} } } },
          { type: 'custom', name: 'free', grammar: { syntax: 'ruled' } },
          { type: 'native', format: 'messages', value: { type: 'searched' } },
        ],
      },
      output: { format: { type: 'json', schema: { properties: { wanted: {} } } } },
    })
    const words =
      'spoken refused pondered called asked answered written encoded computed offered described shaped free ruled searched wanted'
    for (const word of words.split(' ')) expect(messageText).toContain(word)
    expect(messageText).not.toContain('sealed')
    expect(messageText).not.toContain('AAAA')
  })

  it('counts media at a fixed number regardless of size', () => {
    const fixed = (...parts: Part[]): number => estimateInput({ turns: [turn(...parts)] }).fixed - 7
    const of = (kind: 'image' | 'audio' | 'video' | 'document'): Part => ({
      type: 'media',
      kind,
      source: { type: 'url', url: 'https://example.com/x' },
    })
    expect([fixed(image), fixed({ ...image, detail: 'low' })]).toEqual([1600, 85])
    expect([fixed(of('image')), fixed(of('audio')), fixed(of('video')), fixed(of('document'))]).toEqual([
      1600, 1000, 4500, 3000,
    ])
  })

  it('counts data in a native block as media, not as text', () => {
    const value = { type: 'computer_call_output', output: { image_url: `data:image/png;base64,${'A'.repeat(50_000)}` } }
    const { text: counted, fixed } = estimateInput({ turns: [turn({ type: 'native', format: 'responses', value })] })
    expect(counted.length).toBeLessThan(200)
    expect(fixed).toBe(1607)
  })
})
