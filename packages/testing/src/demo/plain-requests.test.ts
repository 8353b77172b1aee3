import { describe, expect, test } from 'vitest'
import type { Prompt, PromptMedia, PromptTurn } from '../contract/prompt.ts'
import { demoBrain } from './brain.ts'

const turn = (text: string, media: readonly PromptMedia[] = [], role: PromptTurn['role'] = 'user'): PromptTurn => ({
  role,
  text,
  media,
  toolCalls: [],
  toolResults: [],
})
const inline = (kind: PromptMedia['kind'], mediaType: string, data: string): PromptMedia => ({
  kind,
  mediaType,
  data,
  bytes: data.length,
  url: undefined,
  title: undefined,
  text: undefined,
  citable: false,
})

const answer = (turns: readonly PromptTurn[], system = ''): string | undefined =>
  demoBrain({
    format: 'chat',
    model: 'demo',
    stream: false,
    system,
    turns,
    tools: [],
    toolChoice: 'auto',
    parallelTools: true,
    reasoning: 'off',
    output: 'text',
    stop: [],
    maxTokens: undefined,
    choices: 1,
    logprobs: undefined,
    includeUsage: false,
    segments: [],
  } satisfies Prompt).text

/** Returns a PNG with a palette only, because the demo model reads nothing else. */
const palette = (...rgb: number[]): string => btoa(`\u0089PNG\0\0\0\u0003PLTE${String.fromCharCode(...rgb)}`)

describe('plain requests to the demo model', () => {
  test('make it repeat given words', () => {
    expect(answer([turn('Reply with exactly: alpha beta')])).toBe('alpha beta')
    expect(answer([turn('Good morning!')], 'Be terse.\nWhatever comes, reply with exactly: OK')).toBe('OK')
    expect(answer([turn('Reply with exactly: me')], 'Reply with exactly: you')).toBe('me')
  })

  test('make it recall a code word from earlier turns and from a PDF', () => {
    const reported = [turn('The code word is MANGO.'), turn('noted', [], 'assistant')]
    expect(answer([...reported, turn('What is the code word?')])).toBe('MANGO')
    const page = inline('document', 'application/pdf', btoa('BT (The code word is PAPAYA.) Tj ET'))
    expect(answer([turn('What is the code word in this document?', [page])])).toBe('PAPAYA')
    expect(answer([turn('What is the code word?')])).toBe('I do not know a code word.')
  })

  test('make it name the color of an image', () => {
    const look = (data: string) => answer([turn('What colour is this?', [inline('image', 'image/png', data)])])
    expect(look(palette(220, 20, 20))).toBe('Red')
    expect(look(palette(10, 30, 240))).toBe('Blue')
    expect(look(btoa('no palette'))).toContain('I received the image (image/png')
  })
})
